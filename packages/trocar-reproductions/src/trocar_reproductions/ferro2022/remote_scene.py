"""The scene of Ferro et al. 2022 for CoppeliaSim's remote APIs: its objects, signals and script, on this engine.

Names, stops, motors and poses are those of the published scenes with one and two arms (`scene_file` reads them). In
each simulation step the script of an arm acts on what it sensed at the end of the step before, the engine advances, and
the script senses: a command acts one period after it was sent, and its effort is read another period later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.appearance.films import Picture
from trocar.demo.torque_control import ARM, START
from trocar.errors import TrocarError, check_known
from trocar.robot.messages import Frame
from trocar.spatial import Array, inverse, pose
from trocar_reproductions.coppelia.packets import ScriptCall
from trocar_reproductions.coppelia.remote_scene import (
    DUMMY,
    JOINT,
    VISION_SENSOR,
    SceneClock,
    SceneRefusal,
    parents,
)
from trocar_reproductions.ferro2022.logs import PHYSICS
from trocar_reproductions.ferro2022.scene_arm import LOWER, UPPER, ScenePSM
from trocar_reproductions.ferro2022.scene_view import ECM, SENSORS, SceneView

PARAMETERS = "ferro2022_scene"
PERIODS = (5e-3, 0.1)  # of a simulation step [s]
EFFORT_VELOCITY = 1e3  # target velocity with which the script applies an effort


class _Arm(NamedTuple):
    """Names of an arm in the scene: letter of its signals, and passive joints with their position per pitch angle."""

    letter: str
    passive: Mapping[str, float]
    base: str
    tip: str


ARMS = {
    "PSM1": _Arm("L", {"J22_PSM1": -1, "J23_PSM1": -1, "J24_PSM1": 1, "J25_PSM1": 1}, "RCM_PSM1", "TipOrient"),
    "PSM2": _Arm("R", {"J22_PSM2": -1, "J23_PSM12": -1, "J24_PSM2": 1, "J25_PSM12": 1}, "RCM_PSM2", "TipOrient2"),
}
# Frames at the start: position in the world [m] and angles a, b, c with R = Rx(a) Ry(b) Rz(c) [rad]
FRAMES = {
    "Start": ((-1.5390012, -0.18781, 0.7147506), (0.0, 0.0, 0.0)),
    "Stop": ((-1.6140027, -0.0670001, 0.7360002), (0.0, 0.0, 0.0)),
    "Mod_y": ((-1.5390012, -0.15781, 0.7147506), (0.0, 0.0, 0.0)),
    "eeRef_regulation": ((-1.4680464, -0.0349739, 0.6996984), (-0.0001169, -0.0003259, -1e-07)),
    "eeDummy": ((-1.529498, -0.1414537, 0.7177714), (1e-05, -0.0003493, 0.3488117)),
    "ApiRemoteBridge": ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    "DH0_ref": ((-1.0445376, -0.3178242, 0.8201912), (0.0001098, 0.0003317, 1.2219847)),
    "RCM_PSM1": ((-1.5305, -0.1405101, 0.8187921), (-7.1e-06, 5.7e-06, 1.2219888)),
    "TipOrient": ((-1.5302414, -0.1406061, 0.7153477), (-0.0010754, -0.0029432, -0.3482747)),
}
BASE_OF_ECM = ((-1.5940373, 0.0070982, 0.8170378), (-0.0255727, -0.5341774, -1.6130557))
VISION_SENSORS = {f"Vision_sensor_{eye}": eye for eye in SENSORS}
FRAMES_OF_PSM2 = {
    "DH0_ref2": ((-1.0537896, 0.3142177, 0.8201948), (-0.0001205, 0.0003208, 1.9197778)),
    "RCM_PSM2": ((-1.5400935, 0.1378422, 0.8187923), (-6e-07, -4.1e-06, 1.9197819)),
    "TipOrient2": ((-1.5398332, 0.1379357, 0.7153479), (0.0010756, -0.0029502, 0.3495216)),
}


class SceneJoint(NamedTuple):
    """A joint of the scene: the arm it belongs to, and its number among yaw to wrist yaw, if any."""

    arm: str
    number: int | None
    name: str


class FerroScene(SceneClock):
    """The scene, as a `RemoteScene`.

    Args:
        arms: ("PSM1",) or ("PSM1", "PSM2"). torque: the script takes efforts instead of velocities.
        counterweight: False: the scene without counterweight.
        period: simulation step [s]; logs 1 to 4 and 8 were made at 10 ms, logs 5 and 6 at 5 ms.
        parameters: parameter set of the arms. Default: the masses of the scene.
        places: positions (3,) [m] of frames that differ from the scene, by name.
        report: called with one line if the script cannot use a command.
        observe: called with the scene before each step, and with None when the simulation stops.

    Attributes:
        psms: the simulated arms, by name. floats, integers: signals.
    """

    def __init__(
        self,
        arms: Sequence[str] = ("PSM1",),
        *,
        torque: bool = False,
        counterweight: bool = True,
        period: float = 0.01,
        parameters: str = PARAMETERS,
        places: Mapping[str, Sequence[float]] | None = None,
        report: Callable[[str], None] = print,
        observe: Callable[[FerroScene | None], None] = lambda scene: None,
    ) -> None:
        check_known("arm of the scene", ARMS, *arms)
        steps = period / PHYSICS
        if not (PERIODS[0] <= period <= PERIODS[1] and abs(steps - round(steps)) < 1e-6):
            raise TrocarError(
                f"the period must be a multiple of the physics step of {1e3 * PHYSICS:g} ms, from {1e3 * PERIODS[0]:g} "
                f"to {1e3 * PERIODS[1]:g} ms, got {1e3 * period:g} ms"
            )
        super().__init__(period)
        self.torque, self.counterweight = torque, counterweight
        self._report, self._observe, self._reported = report, observe, False
        self.psms = {name: ScenePSM(parameters, counterweight, period) for name in arms}
        frames = FRAMES | (FRAMES_OF_PSM2 if "PSM2" in arms else {})
        self._at_start = {name: _pose(*numbers) for name, numbers in frames.items()}
        for name, p in (places or {}).items():
            check_known("frame of the scene", self._at_start, name)
            self._at_start[name][:3, 3] = p
        self._tips = {}  # pose of each tip frame in the frame of the dVRK's tip
        for name in arms:
            T_base_tip = self.psms[name].sim.mechanism.forward_kinematics(START)
            T_world_base, T_world_frame = (self._at_start[x] for x in (ARMS[name].base, ARMS[name].tip))
            self._tips[ARMS[name].tip] = name, inverse(T_world_base @ T_base_tip) @ T_world_frame
        bases = {name: self._at_start[ARMS[name].base] for name in arms} | {ECM: _pose(*BASE_OF_ECM)}
        self._view = SceneView(self.psms, bases, parameters, counterweight)
        joints = [SceneJoint(arm, k, f"J{k + 1}_{arm}") for arm in arms for k in range(6)]
        joints += [SceneJoint(arm, 5, f"J7_{arm}") for arm in arms]  # both fingers are placed alike
        joints += [
            SceneJoint(arm, None, name)
            for arm in arms
            for name in (*ARMS[arm].passive, f"J31_{arm}", f"J3mirror_{arm}")
        ]
        joints += [SceneJoint(ECM, k, f"J{k + 1}_ECM") for k in range(4)]
        self._objects: list[SceneJoint | str] = [*joints, *self._at_start, *VISION_SENSORS]  # a handle is the index + 1
        self.names: Mapping[int, str] = {
            k: one if isinstance(one, str) else one.name for k, one in enumerate(self._objects, 1)
        }
        self._handles = {name: handle for handle, name in self.names.items()}
        for arm in arms:  # names of the wrist in the dVRK's other scenes
            tool = f"TOOL{arm.removeprefix('PSM')}"
            wrist = {"J1": 4, "J2": 5, "J3": 6, "J3_dx": 6, "J3_sx": 7}
            self._handles |= {f"{joint}_{tool}": self._handles[f"J{k}_{arm}"] for joint, k in wrist.items()}
        self.kinds: Mapping[int, int] = {
            k: JOINT if isinstance(one, SceneJoint) else VISION_SENSOR if one in VISION_SENSORS else DUMMY
            for k, one in enumerate(self._objects, 1)
        }
        numbered = [[*(f"J{k + 1}_{arm}" for k in range(6)), ARMS[arm].tip] for arm in arms]
        self.parents: Mapping[int, int] = parents(self.names, [*numbered, [f"J{k + 1}_ECM" for k in range(4)]])
        self._reset()

    def _reset(self) -> None:
        self.floats: dict[str, float] = {}
        self.integers: dict[str, int] = {}
        self.frames = {name: T.copy() for name, T in self._at_start.items()}
        self._sensed: dict[str, tuple[Array | None, Array | None]] = {}
        for name, psm in self.psms.items():
            psm.reset()
            self._sensed[name] = None, None
        self._view.reset()
        self._steps = 0

    def close(self) -> None:
        """End the thread that renders pictures."""
        self._view.close()

    def frame(self, arms: Collection[str] | None = None) -> Frame:
        """This moment for a page, with the state of some arms. Default: all."""
        return self._view.frame(self.time, self.running and not self.paused, arms)

    # -- objects -------------------------------------------------------------------------------------------------------

    def handle(self, name: str) -> int:
        """Handle of an object."""
        if name not in self._handles:
            raise SceneRefusal(f"the scene has no object '{name}'")
        return self._handles[name]

    def _joint(self, handle: int) -> SceneJoint:
        one = self._objects[handle - 1] if 0 < handle <= len(self._objects) else None
        if not isinstance(one, SceneJoint):
            raise SceneRefusal(f"handle {handle} is not a joint")
        return one

    def _motor(self, handle: int) -> tuple[ScenePSM, int]:
        arm, index, name = self._joint(handle)
        if index is None or arm == ECM:
            raise SceneRefusal(f"joint {name} has no motor that clients command")
        return self.psms[arm], index

    def _frame(self, handle: int) -> str:
        one = self._objects[handle - 1] if 0 < handle <= len(self._objects) else None
        if not isinstance(one, str):
            raise SceneRefusal(f"handle {handle} is not a frame")
        return one

    def joint_position(self, handle: int) -> float:
        """Position of a joint [rad, m]."""
        arm, index, name = self._joint(handle)
        q = self._view.ecm if arm == ECM else self.psms[arm].q
        if index is not None:
            return float(q[index])
        if name.startswith("J31"):
            return float(q[2])
        return float(ARMS[arm].passive.get(name, 0.0) * q[1])

    def joint_range(self, handle: int) -> tuple[float, float]:
        """Stops of a motor joint [rad, m]."""
        _, index = self._motor(handle)
        return float(LOWER[index]), float(UPPER[index])

    def joint_velocity(self, handle: int) -> float:
        """Velocity of a motor joint [rad/s, m/s]."""
        psm, index = self._motor(handle)
        return float(psm.sim.dq[index])

    def joint_force(self, handle: int) -> float:
        """Mean effort of a joint's motor in the last period [N m, N]; its sign is opposite to the model's."""
        arm, index, name = self._joint(handle)
        if arm == ECM:
            return 0.0
        psm = self.psms[arm]
        if index is not None:
            return -float(psm.efforts[index]) if index in range(3) else 0.0
        motor, passed = psm.counterweight()
        return -motor if name.startswith("J31") else -passed if name.startswith("J3m") else 0.0

    def joint_force_limit(self, handle: int) -> float:
        """Largest effort of a motor [N m, N]."""
        psm, index = self._motor(handle)
        return float(psm.limits[index])

    def set_joint_position(self, handle: int, position: float) -> None:
        """Place a joint; its stops hold."""
        arm, index, _ = self._joint(handle)
        if arm == ECM and index is not None:
            self._view.place(index, position)
            return
        psm, index = self._motor(handle)
        psm.place(index, position)

    def set_joint_target(self, handle: int, *, position: float | None = None, velocity: float | None = None) -> None:
        """Target of a motor. The script overwrites velocities as soon as a client sets its signals."""
        if self._joint(handle).arm == ECM and position is not None:
            self.set_joint_position(handle, position)
            return
        psm, index = self._motor(handle)
        if index >= 3 and position is not None:
            psm.place(index, position)
        else:
            psm.targets[index] = np.nan if position is None else position
            psm.rates[index] = 0.0 if velocity is None else velocity

    def set_joint_force_limit(self, handle: int, force: float) -> None:
        """Set the largest effort of a motor [N m, N]."""
        psm, index = self._motor(handle)
        if force < 0.0:
            raise SceneRefusal(f"the largest effort must not be negative, got {force:g}")
        psm.limits[index] = force

    def pose(self, handle: int) -> Array:
        """Pose (4, 4) of a frame in the world."""
        name = self._frame(handle)
        if name in VISION_SENSORS:
            return self._view.sensor_pose(VISION_SENSORS[name])
        if name not in self._tips:
            return self.frames[name]
        arm, T_tip = self._tips[name]
        psm = self.psms[arm]
        T: Array = self.frames[ARMS[arm].base] @ psm.sim.mechanism.forward_kinematics(psm.q) @ T_tip
        return T

    def velocity(self, handle: int) -> Array:
        """Velocity (6,) of a frame, linear and angular, world axes [m/s, rad/s]."""
        name = self._frame(handle)
        if name not in self._tips:
            return np.zeros(6)
        arm, T_tip = self._tips[name]
        mechanism, sim, R = self.psms[arm].sim.mechanism, self.psms[arm].sim, self.frames[ARMS[arm].base][:3, :3]
        twist = mechanism.jacobian(sim.q) @ sim.dq[:6]
        lever = mechanism.forward_kinematics(sim.q)[:3, :3] @ T_tip[:3, 3]
        return np.concatenate([R @ (twist[:3] + np.cross(twist[3:], lever)), R @ twist[3:]])

    def place(self, handle: int, T: Array) -> None:
        """Place a frame that is not part of an arm."""
        name = self._frame(handle)
        if name in self._tips or name in VISION_SENSORS or name in (ARMS[arm].base for arm in self.psms):
            raise SceneRefusal(f"'{name}' is part of an arm and cannot be placed")
        self.frames[name] = T

    def image(self, handle: int) -> Future[Picture]:
        """Picture of one of the two vision sensors on the scene's endoscope."""
        name = self._frame(handle)
        if name not in VISION_SENSORS:
            raise SceneRefusal(f"'{name}' is not a vision sensor")
        return self._view.picture(VISION_SENSORS[name])

    def call(self, script: str, function: str, arguments: ScriptCall) -> ScriptCall:
        """Accept the path that the program draws; there is no other function."""
        if (script, function) != ("ApiRemoteBridge", "drawTrajectory"):
            raise SceneRefusal(f"the script function {function} of {script} is refused; drawTrajectory is served")
        return ScriptCall()

    # -- simulation ----------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop the simulation: the arms return to their start, signals are cleared."""
        if self.running:
            self._observe(None)
        self.running = self.paused = False
        self._reset()

    def step(self) -> None:
        """One call of the main script: actuation on what was sensed last, physics, sensing."""
        self._observe(self)
        if self._steps == 0:
            self.floats["simulationTimeStep"] = self._period
        self.floats["dynamicCtrlFlagSignal"] = float(self.torque)
        for name, psm in self.psms.items():
            self._act(psm, *self._sensed[name])
            psm.advance()
        self._steps += 1
        for name in self.psms:
            letter = ARMS[name].letter
            self._sensed[name] = self._signals(f"q{letter}dot_", 6), self._signals(f"tau{letter}_", 3)

    def _act(self, psm: ScenePSM, rates: Array | None, efforts: Array | None) -> None:
        """Set the motors; without a signal they keep their setting."""
        if not self.torque and rates is not None:
            psm.rates[:6], psm.targets[:] = rates, np.nan
        elif self.torque and efforts is not None:
            psm.limits[ARM], psm.rates[ARM] = np.abs(efforts), EFFORT_VELOCITY * np.sign(efforts)
            psm.targets[:] = np.nan

    def _signals(self, name: str, n: int) -> Array | None:
        """Values of signals name1 to name<n>; None if the first is not set or one of them is not a finite number."""
        if f"{name}1" not in self.floats:
            return None
        values = np.array([self.floats.get(f"{name}{k + 1}", 0.0) for k in range(n)])
        if not np.isfinite(values).all():
            if not self._reported:
                self._report(f"the signals {name}1 to {name}{n} must be finite numbers, got {values}; they are ignored")
            self._reported = True
            return None
        return values


def _pose(position: Sequence[float], angles: Sequence[float]) -> Array:
    return pose(Rotation.from_euler("XYZ", angles).as_matrix(), position)
