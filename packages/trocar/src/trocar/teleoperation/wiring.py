"""Teleoperation of a robot: pairs, camera control and console on its bus, at 1 kHz, with arms at 1500 Hz."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from trocar.closing import Closable
from trocar.errors import check_known
from trocar.robot import Robot
from trocar.robot import messages as m
from trocar.robot.clients.methods import written
from trocar.robot.interface import INTERFACES, Direction, Topic
from trocar.teleoperation.component import DISABLED, READY, ArmState, CameraSample, Output, PairSample
from trocar.teleoperation.console import INPUT_TYPES, ConsoleState, Pedal, swapped
from trocar.teleoperation.ecm_teleoperation import EcmTeleoperation
from trocar.teleoperation.psm_teleoperation import PsmTeleoperation
from trocar.teleoperation.settings import PERIOD, ECMSettings, PSMSettings

CAMERA = "MTML_MTMR_ECM"
JAW = 6  # index of a PSM's jaw
BEYOND_LIMIT = 0.05  # distance beyond its limit from which a joint of a master is not followed [rad]
NOWHERE = np.eye(4)  # pose of a master that the robot does not have
# Message of a value by topic, of commands to arms and of events of components.
ROLES = ("MTM", "PSM", "ECM", "TELEOP_PSM", "TELEOP_ECM")
MESSAGES = {
    topic.name: partial(written, topic.message, topic.fields) for kind in ROLES for topic in INTERFACES[kind].topics
}
Source = Callable[[Any], Any]  # a function from a sample to another, see `Teleoperation.drive`


class Teleoperation(Closable):
    """The surgeon's console of a robot: pedals and masters drive its PSMs and ECM.

    Args:
        robot: a robot with masters. psm: settings of all PSM pairs. ecm: settings of camera control.
        pairs: names of the pairs. Default: every master with every PSM.
        input_type: input type of the console; with PEDALS_ONLY the coag pedal signals the operator's presence.
        sources: functions that replace the samples of masters or of camera control, see `drive`; they may name masters
            that the robot does not have, whose pairs are selected.

    Attributes:
        pairs: PSM pairs by name, such as MTMR_PSM1. camera: camera control; None without an ECM and two masters (or a
            source). console: state of the console. sources: see `drive`.
    """

    def __init__(
        self,
        robot: Robot,
        psm: PSMSettings | None = None,
        ecm: ECMSettings | None = None,
        *,
        pairs: Sequence[str] | None = None,
        input_type: str = "SIMULATED",
        sources: Mapping[str, Source] | None = None,
    ) -> None:
        check_known("input_type", INPUT_TYPES, input_type)
        self._robot, self._bus, self._input_type = robot, robot.bus, input_type
        self.sources: dict[str, Source] = dict(sources or {})
        self._pedals = {name: Pedal() for name in ("clutch", "camera", "coag")}
        self._down = dict.fromkeys(self._pedals, False)
        self._read = {name: robot.readings(name) for name in robot.arms}
        limits = {name: read.arm for name, read in self._read.items()}
        self._followed = {name: (arm.lower - BEYOND_LIMIT, arm.upper + BEYOND_LIMIT) for name, arm in limits.items()}
        psms = [name for name, kind in robot.devices.items() if kind == "PSM"]
        masters = dict.fromkeys([*self._masters(), *(name for name in self.sources if name != CAMERA)])
        possible = {f"{master}_{name}": (master, name) for master in masters for name in psms}
        check_known("pair of the robot", possible, *(pairs or ()))
        self._arms = {name: possible[name] for name in (possible if pairs is None else pairs)}
        jaws = {name: (float(arm.lower[JAW]), float(arm.upper[JAW])) for name in psms if (arm := self._read[name].arm)}
        self.pairs = {name: PsmTeleoperation(name, psm, jaws[slave]) for name, (_, slave) in self._arms.items()}
        whole = {"ECM"} | (set() if CAMERA in self.sources else {"MTML", "MTMR"}) <= set(robot.arms)
        self.camera = EcmTeleoperation(CAMERA, ecm) if whole else None
        self.console = ConsoleState(tuple(self.pairs), () if self.camera is None else (CAMERA,))
        with self._bus.lock:
            for name, component in self._components().items():
                self._add(name, component)
            self._listen()
            for name, component in self._components().items():
                self._send(name, component.output(), {})
        robot.every(PERIOD, self.step)

    def _masters(self) -> list[str]:
        return [name for name, kind in self._robot.devices.items() if kind == "MTM"]

    # -- bus -----------------------------------------------------------------------------------------------------------

    def _add(self, name: str, component: PsmTeleoperation | EcmTeleoperation) -> None:
        """Add the topics of a component; it is disabled when one of its arms publishes a new error."""
        states: dict[str, Callable[[], m.Message]] = {}
        if isinstance(component, PsmTeleoperation):
            pair = component
            states["alignment_offset"] = lambda: m.Rotation(R=pair.state.offset.copy(), stamp=self._robot.now)
        kind = "TELEOP_PSM" if name in self.pairs else "TELEOP_ECM"
        handlers = {
            topic.name: partial(_command, topic, getattr(component, topic.name.replace("/", "_")))
            for topic in INTERFACES[kind].topics
            if topic.direction is Direction.command
        }
        self._robot.add_device(name, kind, states=states, commands=handlers)
        for arm in self._arms.get(name, CAMERA.split("_")):
            if arm in self._read:
                past = self._bus.read(f"{arm}/error")
                self._bus.subscribe(f"{arm}/error", partial(_disable, component, past))

    def _listen(self) -> None:
        client = self._robot.console()
        self.console.selected = {
            pair
            for pair, (master, _) in self._arms.items()
            if client.teleop_is_selected(pair) or master not in self._read
        }
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

    def _components(self) -> dict[str, PsmTeleoperation | EcmTeleoperation]:
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

    # -- hands and feet ------------------------------------------------------------------------------------------------

    def press(self, pedal: str, down: bool = True) -> None:
        """Press or release a pedal: clutch, camera or coag. It is reported 0.2 s later; a shorter press is a click."""
        check_known("pedal", self._pedals, pedal)
        with self._bus.lock:
            self._down[pedal] = down

    def drive(self, master: str, source: Source | None) -> None:
        """Replace the samples of a master by a function's, such as those of an input device; None restores them.

        The function gets the `PairSample` of the simulated MTM and returns another. If it has none, `fault` is the
        reason. For MTML_MTMR_ECM the samples are of the class `CameraSample`.
        """
        check_known("master", [*self._masters(), *self.sources, CAMERA], master)
        with self._bus.lock:
            if source is None:
                self.sources.pop(master, None)
            else:
                self.sources[master] = source

    # -- cycle ---------------------------------------------------------------------------------------------------------

    def step(self, t: float) -> None:
        """One cycle at time t [s] by the robot's clock: pedals, pairs, camera control."""
        for name, pedal in self._pedals.items():
            change = pedal.step(t, self._down[name])
            if change is not None:
                self._bus.publish(f"console/emulate_{name}", m.Joy(buttons=(change,)))
        for name, pair in self.pairs.items():
            if not pair.idle:
                master, slave = self._arms[name]
                sample = self._pair_sample(master, slave, following=pair.state.following)
                self._send(name, pair.step(t, sample), {"MTM": master, "PSM": slave})
        if self.camera is not None and not self.camera.idle:
            self._send(CAMERA, self.camera.step(t, self._camera_sample()), {})

    def _pair_sample(self, master: str, slave: str, following: bool) -> PairSample:
        psm = self._read[slave]
        q = psm.joint_setpoint()
        T = psm.T_reference_base.dot(psm.tip.pose(q[:JAW]))
        jaw = float(q[JAW]) if psm.tip_ready else None
        if master in self._read:
            mtm = self._read[master]
            measured = mtm.measured_pose()
            # under effort control, as while following, the set-point of an MTM is its measured pose
            setpoint = measured if following else mtm.setpoint_pose()
            states = self._state(master), self._state(slave)
            fault = self._fault(master)
            sample = PairSample(measured, setpoint, T, mtm.twist(), mtm.gripper, jaw, *states, fault=fault)
        else:
            sample = PairSample(NOWHERE, NOWHERE, T, jaw=jaw, slave_state=self._state(slave))
        if master in self.sources:
            sample = self.sources[master](sample)
        return sample

    def _camera_sample(self) -> CameraSample:
        q, state = self._read["ECM"].q_setpoint, self._state("ECM")
        if {"MTML", "MTMR"} <= self._read.keys():
            left, right = self._read["MTML"], self._read["MTMR"]
            states = self._state("MTML"), self._state("MTMR"), state
            fault = self._fault("MTML") or self._fault("MTMR")
            poses, twists = (left.measured_pose(), right.measured_pose()), (left.twist(), right.twist())
            sample = CameraSample(*poses, q, *twists, states, fault)
        else:
            sample = CameraSample(NOWHERE, NOWHERE, q, states=(READY, READY, state))
        if CAMERA in self.sources:
            sample = self.sources[CAMERA](sample)
        return sample

    def _state(self, arm: str) -> ArmState:
        return ArmState(*self._read[arm].flags)

    def _fault(self, master: str) -> str:
        """A joint of a master beyond its limit, "" if there is none."""
        read = self._read[master]
        q, (low, high) = read.joints, self._followed[master]
        if not read.tip_ready or np.count_nonzero((q > low) & (q < high)) == len(q):
            return ""
        joint, arm = int(np.argmax(np.maximum(low - q, q - high))), read.arm
        return f"{master} joint {joint + 1} ({arm.joint_names[joint]}) is beyond its limit at {q[joint]:.3f} rad"

    def _send(self, name: str, output: Output, arms: Mapping[str, str]) -> None:
        """Publish the commands of a component on the topics of its arms, by role, and its events on its own."""
        publish = self._bus.publish
        for arm, command, value in output.commands:
            if command == "servo_cp":
                T, twist = value
                command, value = ("servo_cp", T) if twist is None else ("servo_cs", m.CartesianState(T=T, twist=twist))
            publish(f"{arms.get(arm, arm)}/{command}", MESSAGES[command](value))
        for topic, value in output.events:
            publish(f"{name}/{topic}", MESSAGES[topic](value))


def _command(topic: Topic, command: Callable[..., None], message: m.Message) -> None:
    command(*topic.values(message))


def _disable(component: PsmTeleoperation | EcmTeleoperation, past: m.Message | None, message: Any) -> None:
    if message is not past and component.state.desired != DISABLED:
        component.arm_error(message.value)


def _is_pressed(message: m.Joy) -> bool:
    return message.buttons[:1] == (m.Joy.PRESSED,)
