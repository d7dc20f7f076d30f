"""A console with input devices as masters: each moves a PSM, and the ECM while its camera button is held."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from trocar.errors import TrocarError, check_known
from trocar.robot import Robot
from trocar.robot import messages as m
from trocar.robot.controller.psm import JAW
from trocar.spatial import Array
from trocar.teleoperation.arm_states import ArmState
from trocar.teleoperation.channel import Channel
from trocar.teleoperation.console import Console
from trocar.teleoperation.devices.camera_grips import CameraGrips
from trocar.teleoperation.devices.device import Device
from trocar.teleoperation.devices.hand import Grip, Hand
from trocar.teleoperation.devices.hand_topics import add_hand, master_name
from trocar.teleoperation.outputs import Output
from trocar.teleoperation.settings import PERIOD, ECMSettings, PSMSettings
from trocar.teleoperation.teleop_ecm import CameraSample, TeleopECM
from trocar.teleoperation.teleop_psm import PairSample, TeleopPSM

SCALES = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0)  # selected with the buttons
REFLECTED = 10  # steps between two contact wrenches that devices feel
CAMERA = "ECM"
HEARD = 50  # number of messages kept
WORDS = {
    "DISABLED": "off",
    "SETTING_ARMS_STATE": "holds",
    "ALIGNING_MTM": "holds; pinch to follow",
    "ENABLED": "holds",
}


class Said(NamedTuple):
    """A message of a component: time since the console was created [s], kind (error, warning, status), text."""

    time: float
    kind: str
    text: str


class DeviceConsole:
    """Devices that drive the PSMs of a robot by the law of `TeleopPSM`, at 1 kHz of the robot's clock.

    A device has no motors that could align it with the PSM, so the pair keeps the rotation between them (`align_MTM`
    off). As on the dVRK, following starts with a pinch of the gripper or a turn of the hand, also after camera control
    and after a fault.

    Args:
        robot: robot with the PSMs. devices: by name of the PSM, such as {"PSM1": Gamepad()}.
        scale: PSM translation per hand translation, at most 1. delay: one-way delay of the network [s].

    Attributes:
        hands, pairs: by PSM. camera: camera control, None without an ECM. messages: the latest ones, oldest first.
        masters: name of each hand's topics, by PSM. grips: hands as they have reached the robot, by PSM.
        pressed: buttons held on a page, in addition to those of the devices. wrenches: (6,) displayed, by PSM.
    """

    def __init__(self, robot: Robot, devices: Mapping[str, Device], *, scale: float = 0.2, delay: float = 0.0) -> None:
        if not devices:
            raise TrocarError("a console needs at least one device")
        check_known("PSM of the robot", [name for name, kind in robot.devices.items() if kind == "PSM"], *devices)
        self._robot, self._bus = robot, robot.bus
        # a hand has no motors; a pinch of the gripper signals an active operator
        settings = PSMSettings(scale=scale, align_MTM=False, MTM_is_haptic=False)
        self.hands = {psm: Hand(device) for psm, device in devices.items()}
        self.pairs = {psm: TeleopPSM(psm, settings, _jaw_limits(robot, psm)) for psm in devices}
        self.camera = TeleopECM(CAMERA, ECMSettings(MTM_is_haptic=False)) if CAMERA in robot.controllers else None
        self.console = Console(tuple(self.pairs), (CAMERA,) if self.camera else (), selected=set(self.pairs))
        self.messages: deque[Said] = deque(maxlen=HEARD)
        self.pressed: set[str] = set()
        self.wrenches = {psm: np.zeros(6) for psm in devices}
        self.grips = {psm: Grip() for psm in devices}
        self.masters = {psm: master_name(robot, psm) for psm in devices}
        for psm, master in self.masters.items():
            add_hand(robot, master, partial(self._grip, psm), partial(self.grips.__getitem__, psm))
        self._forth = {psm: Channel(delay) for psm in devices}
        self._back = {psm: Channel(delay) for psm in devices}
        self._grips = CameraGrips()
        self._held: frozenset[str] = frozenset()
        self._begun = self._last = robot.time
        self._count = 0
        with self._bus.lock:
            for name, component in self._components().items():
                component.output()  # discard the initial reports
                self._subscribe_errors(name, component)
        robot.every(PERIOD, self.step)

    def start(self) -> None:
        """Switch teleoperation on, with an operator present."""
        self.poll()
        with self._bus.lock:
            self.console.enabled = self.console.operator_present = True
            self._command()

    def close(self) -> None:
        """Switch all pairs off and release the devices."""
        with self._bus.lock:
            self.console.enabled = False
            self._command()
        for hand in self.hands.values():
            hand.device.close()

    def poll(self) -> None:
        """Read every device and display its wrench. Call it about 200 times a second, always in the same thread."""
        for psm, hand in self.hands.items():
            hand.poll(self._robot.time)
            hand.device.feel(self.wrenches[psm])

    @property
    def scale(self) -> float:
        return next(iter(self.pairs.values())).state.scale

    def set_scale(self, scale: float) -> None:
        """Change the scale of all pairs, 0 < scale <= 1; the PSMs do not jump."""
        with self._bus.lock:
            for pair in self.pairs.values():
                pair.set_scale(scale)

    def summary(self) -> dict[str, str]:
        """State of every pair, its scale and contact force in words, by PSM; and of the ECM while a hand moves it."""
        found = {}
        for psm, pair in self.pairs.items():
            state, force = pair.state, float(np.linalg.norm(self.wrenches[psm][:3]))
            word = "following" if state.following else "clutched" if state.clutched else WORDS[state.current]
            found[psm] = f"{word}, scale {state.scale:g}, contact {force:.1f} N"
        return found | ({CAMERA: "moved by the hand"} if self.console.camera else {})

    # -- cycle ---------------------------------------------------------------------------------------------------------

    def step(self, t: float) -> None:
        """One cycle at time t [s] by the robot's clock."""
        dt, self._last = max(t - self._last, 0.0), t
        received = {psm: self._received(psm, t, dt) for psm in self.hands}
        grips = {psm: grip for psm, grip in received.items() if grip is not None}
        self.grips |= grips
        self._press(frozenset(self.pressed).union(*(grip.buttons for grip in grips.values())))
        for psm, grip in grips.items():
            if not self.pairs[psm].idle:
                self._send(psm, t, self.pairs[psm].step(t, self._pair_sample(psm, grip)))
        if self.camera is not None and grips and not self.camera.idle:
            self._send(CAMERA, t, self.camera.step(t, self._camera_sample(grips, dt)))
        self._count += 1
        if self._count % REFLECTED == 0:
            for psm, channel in self._back.items():
                channel.send(t, self._contact(psm) if self.pairs[psm].state.following else np.zeros(6))
                found = channel.receive(t)
                self.wrenches[psm] = np.zeros(6) if found is None else found

    def _received(self, psm: str, t: float, dt: float) -> Grip | None:
        """Latest grip of a hand that has reached the robot; None before the first one."""
        channel, hand = self._forth[psm], self.hands[psm]
        channel.send(t, hand.step(t, dt) if dt > 0.0 else hand.grip)
        found: Grip | None = channel.receive(t)
        return found

    def _grip(self, psm: str) -> Grip:
        return self.hands[psm].grip

    def _press(self, held: frozenset[str]) -> None:
        """Handle buttons that were pressed or released."""
        pressed, released = held - self._held, self._held - held
        self._held = held
        for button, down in [(button, True) for button in pressed] + [(button, False) for button in released]:
            if button == "clutch":
                for component in self._components().values():
                    component.clutch(down)
            elif button == "camera":
                self._grips = CameraGrips()
                self.console.camera = down
                self._command()
            elif down:
                self._change_scale(+1 if button == "faster" else -1)

    def _change_scale(self, step: int) -> None:
        others = [s for s in SCALES if (s - self.scale) * step > 1e-9]
        if others:
            self.set_scale(min(others, key=lambda s: abs(s - self.scale)))

    def _command(self) -> None:
        for name, command in self.console.commands().items():
            component = self._components()[name]
            if command != "disable" or component.state.desired != "DISABLED":
                component.state_command(command)

    def _components(self) -> dict[str, TeleopPSM | TeleopECM]:
        return self.pairs | ({} if self.camera is None else {CAMERA: self.camera})

    def _pair_sample(self, psm: str, grip: Grip) -> PairSample:
        controller = self._robot.controllers[psm]
        jaw = float(controller.hardware.setpoint()[JAW]) if controller.tip_ready else None
        slave = controller.reports.setpoint_pose()
        return PairSample(
            grip.pose, grip.pose, slave, grip.twist, grip.gripper, jaw, slave_state=self._state(psm), fault=grip.fault
        )

    def _camera_sample(self, grips: Mapping[str, Grip], dt: float) -> CameraSample:
        """Both grips of a virtual pair of masters that the hand with the camera button carries."""
        hand = next((grip for grip in grips.values() if "camera" in grip.buttons), next(iter(grips.values())))
        left, right = self._grips.moved(hand.twist, dt)
        ready = ArmState()
        q = self._robot.controllers[CAMERA].reports.q_setpoint
        return CameraSample(left, right, q, states=(ready, ready, self._state(CAMERA)), fault=hand.fault)

    def _state(self, arm: str) -> ArmState:
        states = self._robot.controllers[arm].states
        return ArmState(states.state == "ENABLED", states.homed, states.busy)

    def _contact(self, psm: str) -> Array:
        """True wrench (6,) of the objects on the instrument, in the axes of the camera."""
        wrench = self._robot.scene.arms[psm].contact_wrench()
        R = self._robot.controllers[psm].reports.T_reference_base[:3, :3]
        return np.concatenate([R @ wrench[:3], R @ wrench[3:]])

    def _send(self, name: str, t: float, output: Output) -> None:
        for _, command, value in output.commands:
            self._bus.publish(f"{name}/{_TOPICS.get(command, command)}", _MESSAGES[command](value))
        for topic, value in output.events:
            if topic in ("error", "warning", "status"):
                self.messages.append(Said(t - self._begun, topic, str(value)))

    def _subscribe_errors(self, arm: str, component: TeleopPSM | TeleopECM) -> None:
        past = self._bus.read(f"{arm}/error")

        def hear(message: Any) -> None:
            if message is not past and component.state.desired != "DISABLED":
                component.arm_error(message.value)

        self._bus.subscribe(f"{arm}/error", hear)


def _jaw_limits(robot: Robot, psm: str) -> tuple[float, float]:
    arm = robot.controllers[psm].arm
    return float(arm.lower[JAW]), float(arm.upper[JAW])


_TOPICS = {"servo_cp": "servo_cs"}  # a goal with a twist travels as a Cartesian state
_MESSAGES: dict[str, Callable[[Any], m.Message]] = {
    "servo_cp": lambda goal: m.CartesianState(T=goal[0], twist=goal[1]),
    "jaw/servo_jp": lambda jaw: m.JointState(position=np.array([jaw])),
    "servo_jp": lambda q: m.JointState(position=q),
    "hold": lambda _: m.Empty(),
    "state_command": lambda command: m.String(value=command),
}
