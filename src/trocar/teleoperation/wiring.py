"""Teleoperation of a robot: pairs, camera control and console on its bus, at 1 kHz, with arms at 1500 Hz."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from trocar.errors import check_known
from trocar.robot import Robot
from trocar.robot import messages as m
from trocar.robot.controller.psm import JAW
from trocar.teleoperation.arm_reader import ArmReader
from trocar.teleoperation.bus_messages import command_message, event_message
from trocar.teleoperation.console import INPUT_TYPES, Console, swapped
from trocar.teleoperation.outputs import Output
from trocar.teleoperation.pair_sample import PairSample
from trocar.teleoperation.pedals import DEBOUNCE, DEBOUNCED, Pedal
from trocar.teleoperation.settings import PERIOD, ECMSettings, PSMSettings
from trocar.teleoperation.teleop_ecm import CameraSample, TeleopECM
from trocar.teleoperation.teleop_psm import DISABLED, TeleopPSM

CAMERA = "MTML_MTMR_ECM"


class Teleoperation:
    """The surgeon's console of a robot: pedals and masters drive its PSMs and ECM.

    Args:
        robot: a robot with masters. psm: settings of all PSM pairs. ecm: settings of camera control.
        pairs: names of the pairs. Default: every master with every PSM.
        input_type: input type of the console; with PEDALS_ONLY the coag pedal signals the operator's presence.

    Attributes:
        pairs: PSM pairs by name, such as MTMR_PSM1. camera: camera control; None without two masters and an ECM.
        console: state of the console. masters: functions that replace master samples, by MTM; see `drive`.
    """

    def __init__(
        self,
        robot: Robot,
        psm: PSMSettings | None = None,
        ecm: ECMSettings | None = None,
        *,
        pairs: Sequence[str] | None = None,
        input_type: str = "SIMULATED",
    ) -> None:
        check_known("input_type", INPUT_TYPES, input_type)
        self._robot, self._bus, self._input_type = robot, robot.bus, input_type
        self.masters: dict[str, Callable[[PairSample], PairSample]] = {}
        self._pedals = {name: Pedal(DEBOUNCE if name in DEBOUNCED else 0.0) for name in ("clutch", "camera", "coag")}
        self._down = dict.fromkeys(self._pedals, False)
        psms = [name for name, kind in robot.devices.items() if kind == "PSM"]
        mtms = [name for name, kind in robot.devices.items() if kind == "MTM"]
        possible = {f"{mtm}_{name}": name for mtm in mtms for name in psms}
        check_known("pair of the robot", possible, *(pairs or ()))
        self.pairs = {
            name: TeleopPSM(name, psm, _jaw_limits(robot, possible[name]))
            for name in (possible if pairs is None else pairs)
        }
        whole = {"MTML", "MTMR", "ECM"} <= set(robot.controllers)
        self.camera = TeleopECM(CAMERA, ecm) if whole else None
        self.console = Console(tuple(self.pairs), () if self.camera is None else (CAMERA,))
        self._read = {name: ArmReader(robot, name) for name in robot.controllers}
        with self._bus.lock:
            for name, pair in self.pairs.items():
                self._add_pair(name, pair)
            if self.camera is not None:
                self._add_camera(self.camera)
            self._listen()
            for name, component in self._components().items():
                self._send(name, component.output(), {})
        robot.every(PERIOD, self.step)

    # -- bus -----------------------------------------------------------------------------------------------------------

    def _add_pair(self, name: str, pair: TeleopPSM) -> None:
        handlers: dict[str, Callable[[Any], None]] = {
            "state_command": lambda message: pair.state_command(message.value),
            "set_scale": lambda message: pair.set_scale(message.value),
            "set_align_MTM": lambda message: pair.set_align_MTM(bool(message.value)),
            "lock_rotation": lambda message: pair.lock_rotation(bool(message.value)),
            "lock_translation": lambda message: pair.lock_translation(bool(message.value)),
            "following/mtm/body/servo_cf": lambda message: pair.following_mtm_body_servo_cf(message.vector),
        }
        states = {"alignment_offset": lambda: m.Rotation(R=pair.state.offset.copy(), stamp=self._robot.now)}
        self._robot.add_device(name, "TELEOP_PSM", states=states, commands=handlers)
        for arm in name.split("_"):
            self._subscribe_errors(arm, pair)

    def _add_camera(self, camera: TeleopECM) -> None:
        handlers: dict[str, Callable[[Any], None]] = {
            "state_command": lambda message: camera.state_command(message.value),
            "set_scale": lambda message: camera.set_scale(message.value),
        }
        self._robot.add_device(CAMERA, "TELEOP_ECM", commands=handlers)
        for arm in CAMERA.split("_"):
            self._subscribe_errors(arm, camera)

    def _subscribe_errors(self, arm: str, component: TeleopPSM | TeleopECM) -> None:
        """Disable an active component when one of its arms publishes a new error."""
        past = self._bus.read(f"{arm}/error")

        def hear(message: Any) -> None:
            if message is not past and component.state.desired != DISABLED:
                component.arm_error(message.value)

        self._bus.subscribe(f"{arm}/error", hear)

    def _listen(self) -> None:
        client = self._robot.console()
        self.console.selected = {pair for pair in self.pairs if client.teleop_is_selected(pair)}
        handlers: dict[str, Callable[[Any], None]] = {
            "teleop/enabled": lambda message: self._update(enabled=bool(message.value)),
            "teleop/selected": lambda message: self._select(message.value, True),
            "teleop/unselected": lambda message: self._select(message.value, False),
            "teleop/scale": self._set_scale,
            "operator_present": lambda message: self._update(operator_present=_is_pressed(message)),
            "camera": lambda message: self._update(camera=_is_pressed(message)),
            "clutch": self._clutch,
            "coag": self._coag,
        }
        for topic, handler in handlers.items():
            self._bus.subscribe(f"console/{topic}", handler)

    def _update(self, **changed: bool) -> None:
        for key, value in changed.items():
            setattr(self.console, key, value)
        for name, command in self.console.commands().items():
            component = self._components()[name]
            if not (command == "disable" and component.state.desired == DISABLED):
                component.state_command(command)

    def _components(self) -> dict[str, TeleopPSM | TeleopECM]:
        return self.pairs | ({} if self.camera is None else {CAMERA: self.camera})

    def _select(self, pair: str, selected: bool) -> None:
        (self.console.selected.add if selected else self.console.selected.discard)(pair)
        self._update()

    def _set_scale(self, message: m.Float) -> None:
        for pair in self.pairs.values():
            if pair.state.scale != message.value:
                pair.set_scale(message.value)

    def _clutch(self, message: m.Joy) -> None:
        if message.buttons[:1] == (m.Joy.CLICKED,):
            for other in swapped(sorted(self.console.selected), self.pairs):
                self._bus.publish("console/teleop/select", m.String(value=other))
            return
        for name, pair in self.pairs.items():
            if name in self.console.selected:
                pair.clutch(_is_pressed(message))
        if self.camera is not None:
            self.camera.clutch(_is_pressed(message))

    def _coag(self, message: m.Joy) -> None:
        if self._input_type == "PEDALS_ONLY":
            self._bus.publish("console/emulate_operator_present", m.Joy(buttons=message.buttons))

    def close(self) -> None:
        """Disable all components."""
        with self._bus.lock:
            self._update(enabled=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # -- hands and feet ------------------------------------------------------------------------------------------------

    def press(self, pedal: str, down: bool = True) -> None:
        """Press or release a pedal: clutch, camera or coag. It is reported 0.2 s later; a shorter press is a click."""
        check_known("pedal", self._pedals, pedal)
        with self._bus.lock:
            self._down[pedal] = down

    def drive(self, master: str, source: Callable[[PairSample], PairSample] | None) -> None:
        """Replace the samples of a master by a function's, such as those of an input device; None restores them.

        The function gets the sample of the simulated MTM and returns another. If it has none, `fault` is the reason.
        """
        check_known("master", [name for name, kind in self._robot.devices.items() if kind == "MTM"], master)
        with self._bus.lock:
            if source is None:
                self.masters.pop(master, None)
            else:
                self.masters[master] = source

    # -- cycle ---------------------------------------------------------------------------------------------------------

    def step(self, t: float) -> None:
        """One cycle at time t [s] by the robot's clock: pedals, pairs, camera control."""
        for name, pedal in self._pedals.items():
            told = pedal.step(t, self._down[name])
            if told is not None:
                self._bus.publish(f"console/emulate_{name}", m.Joy(buttons=(told,)))
        for name, pair in self.pairs.items():
            if not pair.idle:
                master, _, slave = name.partition("_")
                sample = self._pair_sample(master, slave, following=pair.state.following)
                self._send(name, pair.step(t, sample), {"MTM": master, "PSM": slave})
        if self.camera is not None and not self.camera.idle:
            self._send(CAMERA, self.camera.step(t, self._camera_sample()), {})

    def _pair_sample(self, master: str, slave: str, following: bool) -> PairSample:
        mtm, psm = self._read[master], self._read[slave]
        measured = mtm.measured()
        pose, jaw = psm.tip_and_jaw()
        # under effort control, as while following, the set-point of an MTM is its measured pose
        setpoint = measured if following else mtm.setpoint()
        sample = PairSample(
            measured, setpoint, pose, mtm.twist(), mtm.gripper(), jaw, mtm.state(), psm.state(), None, mtm.fault()
        )
        return self.masters[master](sample) if master in self.masters else sample

    def _camera_sample(self) -> CameraSample:
        left, right, ecm = self._read["MTML"], self._read["MTMR"], self._read["ECM"]
        states = left.state(), right.state(), ecm.state()
        fault = left.fault() or right.fault()
        return CameraSample(left.measured(), right.measured(), ecm.joints(), left.twist(), right.twist(), states, fault)

    def _send(self, name: str, output: Output, arms: Mapping[str, str]) -> None:
        """Publish the commands of a component on the topics of its arms, by role, and its events on its own."""
        publish = self._bus.publish
        for arm, command, value in output.commands:
            topic, message = command_message(command, value)
            publish(f"{arms.get(arm, arm)}/{topic}", message)
        for topic, value in output.events:
            publish(f"{name}/{topic}", event_message(topic, value))


def _jaw_limits(robot: Robot, psm: str) -> tuple[float, float]:
    arm = robot.controllers[psm].arm
    return float(arm.lower[JAW]), float(arm.upper[JAW])


def _is_pressed(message: m.Joy) -> bool:
    return message.buttons[:1] == (m.Joy.PRESSED,)
