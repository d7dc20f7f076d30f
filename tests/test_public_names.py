"""Every public name of release 0.2.0 still resolves, or has a replacement that does."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

RELEASED: dict[str, list[str]] = json.loads((Path(__file__).parent / "support" / "public_names_0.2.0.json").read_text())
# Packages that moved with their names.
MOVED = {
    "trocar.crtk": "trocar.robot",
    "trocar.crtk.conformance": "trocar.robot.conformance",
    "trocar.crtk.standins.crtk": "trocar.scripts.crtk_package",
    "trocar.crtk.standins.dvrk": "trocar.scripts.dvrk_package",
    "trocar.crtk.standins.pykdl": "trocar.scripts.pykdl",
    "trocar.crtk.standins.rosbag": "trocar.transports.rosbag",
    "trocar.crtk.standins.rospy": "trocar.scripts.rospy",
    "trocar.runtime": "trocar.robot",
    "trocar.teleoperation.bench": "trocar.experiments.bilateral",
    "trocar.teleoperation.bilateral": "trocar.experiments.bilateral",
    "trocar.viewer.webxr": "trocar.view.webxr",
}
MESSAGE_CONVERSIONS = (
    "ArrayFromTwistMsg", "ArrayFromWrenchMsg", "ArrayToTwistMsg", "ArrayToWrenchMsg",
    "FrameFromPoseMsg", "FrameFromTransformMsg", "FrameToPoseMsg", "FrameToTransformMsg",
)  # fmt: skip
# Names that were renamed or replaced, by package.
REPLACED = {
    "trocar.crtk.standins.crtk": dict.fromkeys(
        (*MESSAGE_CONVERSIONS, "msg_conversions"), "trocar.scripts.conversions.MSG_CONVERSIONS"
    ),
    "trocar.crtk.standins.dvrk.first": dict.fromkeys(
        ("arm", "console", "ecm", "mtm", "psm", "suj", "system", "teleop_psm"), "trocar.scripts.dvrk_package.MODULE_1"
    ),
    "trocar.ros": {
        "Bridge": "trocar.transports.ros1.bridge.Ros1Bridge",
        "CameraSettings": "trocar.transports.camera.CameraSettings",
        "Client": "trocar.transports.ros1.client.Ros1Client",
        "write_description": "trocar.transports.scene_topics.write_description",
    },
    "trocar.runtime": {
        "CONTROLLERS": "trocar.robot.laws.LAWS",
        "TIMESTEP": "trocar.arms.arm.CONTROL_RATE",
        "Live": "trocar.robot.Robot",
        "Message": "trocar.robot.messages.String",
        "Messages": "trocar.robot.interface.SIMULATION",
        "Mode": "trocar.robot.laws.Law",
        "Session": "trocar.robot.Robot",
        "Settings": "trocar.robot.ArmSettings",
    },
    "trocar.simulation": {
        "Grasp": "trocar.simulation.skills.Picked",
        "pick_up": "trocar.simulation.skills.pick",
    },
    "trocar.sweep": {"sweep": "trocar.sweep.run"},
    "trocar.sweep.executors": {
        "EXECUTORS": "trocar.sweep.executors.REQUIRED",
        "Executor": "trocar.sweep.executors.load_executor",
        "Lost": "trocar.errors.TrocarError",
    },
    "trocar.teleoperation": {
        "Console": "trocar.teleoperation.ConsoleState",
        "TeleopECM": "trocar.teleoperation.EcmTeleoperation",
        "TeleopPSM": "trocar.teleoperation.PsmTeleoperation",
    },
    "trocar.teleoperation.bilateral": {
        "Grip": "trocar.experiments.bilateral.GripImpedance",
        "Replay": "trocar.experiments.bilateral.RecordedPath",
        "Sinusoids": "trocar.experiments.bilateral.SinusoidalPaths",
    },
    "trocar.teleoperation.devices": {
        "Device": "trocar.teleoperation.devices.InputDevice",
        "Grip": "trocar.teleoperation.devices.HandState",
    },
}


def resolved(path: str) -> object:
    package, _, name = path.rpartition(".")
    return getattr(import_module(package), name)


@pytest.mark.parametrize("package", RELEASED)
def test_public_names_of_the_last_release_resolve_or_are_replaced(package: str) -> None:
    replaced = REPLACED.get(package, {})
    assert set(replaced) <= set(RELEASED[package])
    for name in RELEASED[package]:
        assert resolved(replaced.get(name, f"{MOVED.get(package, package)}.{name}")) is not None, name
