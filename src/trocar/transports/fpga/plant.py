"""The simulated robot on the wires of the boards: motors take currents; encoders, potentiometers and switches report.

The scales of the user's IO files are inverted, so that the errors of a calibration cancel as on the robot: a current of
1 A in the client is 1 A in the motor, and a position of the arm is the same position in the client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trocar.errors import TrocarError, check_known
from trocar.simulation import Scene
from trocar.simulation.stepped_arm import SteppedArm
from trocar.spatial import Array
from trocar.transports.fpga.chip import chip_memory
from trocar.transports.fpga.discs import DISCS, Discs
from trocar.transports.fpga.edges import EncoderTimers
from trocar.transports.fpga.hands import HandOnTip
from trocar.transports.fpga.io_file import GRIPPER, AmplifierChannel, BrakeScales, IOConfiguration, IORobot
from trocar.transports.fpga.registers import KINDS, Boards
from trocar.transports.fpga.set_up import SET_UP, SetUpMultiplexer

CURRENT_NOISE = 2e-3  # of measured currents [A]: ASSUMED, as in `trocar.robot`
POT_NOISE = 3.0  # of potentiometers [bits]: ASSUMED
NOISE_ROWS = 1021  # of the repeated table of noise
MIN_CURRENT = 3e-4  # smaller commands count as none [A]: one and a half bits
MAX_BITS = 65535
WEIGHT_STEPS = 8  # steps between calculations of the weight of an arm that is held
BRAKE_SHARE = 0.5  # of the current that keeps a brake open: ASSUMED


@dataclass(frozen=True)
class _Wired:
    """An arm on the boards: its part of the actuators, its name, its brakes."""

    name: str
    part: slice
    stepped: SteppedArm
    brakes: _Brakes


class _Brakes:
    """Channels and scales of the brakes of an arm, which are engaged at the start."""

    def __init__(self, brakes: Sequence[BrakeScales], channels: Sequence[int]) -> None:
        self.channels = np.array(channels, dtype=int)
        self.command, self.feedback = (
            np.array([(getattr(each, key).offset, getattr(each, key).scale) for each in brakes]).reshape(-1, 2).T
            for key in ("command", "feedback")
        )
        self.threshold = BRAKE_SHARE * np.array([abs(each.released) for each in brakes])
        self.released = False


class RobotPlant:
    """A scene whose motors are driven by boards.

    Args:
        scene: its arms have the names of the IO files. configuration: of the boards and axes.
        supported: motors that are off, or had no current yet, hold their joints against gravity; False: the arms sink.
        seed: of the noise.

    Attributes:
        boards: their registers. scene: the truth. time: of the boards' clock [s]. period: of a step [s].
        current: (A,) of the actuators [A]. notes: lines about what is not simulated.
        pressed: switches by name. hands: on the tips of arms, by name.
        discs: of the arms with an instrument, by name.
        failed: measured and true current [A] of broken amplifiers, by board number and axis.
    """

    def __init__(self, scene: Scene, configuration: IOConfiguration, *, supported: bool = True, seed: int = 0) -> None:
        self.scene, self.configuration, self._supported = scene, configuration, supported
        self.period, self.time = scene.timestep, 0.0
        self.notes = list(configuration.notes)
        hardware = configuration.boards
        if not hardware:
            raise TrocarError("the configuration names no board: it has no robot and no digital input")
        for number, name in hardware.items():
            if name not in KINDS:
                raise TrocarError(
                    f"board {number} is a {name}; trocar simulates {' and '.join(KINDS)}, the boards of Classic arms"
                )
        self.boards = boards = Boards({number: KINDS[name] for number, name in hardware.items()})
        robots = [robot for robot in configuration.robots if robot.name in scene.arms]
        for robot in configuration.robots:
            master = robot.name.removesuffix(GRIPPER)
            if robot not in robots and (master == robot.name or master not in scene.arms) and robot.name != SET_UP:
                self.notes.append(f"{robot.name} is no arm of the scene: its registers answer, nothing moves")
        _warm_up(scene)
        self._wired, ends = [], 0
        for robot in robots:
            stepped = scene.stepped[robot.name]
            if len(robot.actuators) != stepped.arm.n or robot.lookup:
                raise TrocarError(
                    f"{robot.name} has {len(robot.actuators)} actuators in its IO file"
                    f"{' with a table of potentiometers' if robot.lookup else ''}; the simulated {stepped.arm.name} "
                    f"has {stepped.arm.n} with linear potentiometers"
                )
            part = slice(ends, ends := ends + stepped.arm.n)
            brakes = _Brakes(robot.brakes, [self.channel(brake) for brake in robot.brakes])
            self._wired.append(_Wired(robot.name, part, stepped, brakes))
            if len(brakes.channels):
                scene.arms[robot.name].brakes = True
        self._wire(robots, ends)
        self._idle_arms = [name for name in scene.arms if name not in {wired.name for wired in self._wired}]
        random = np.random.default_rng(seed)
        M = len(boards.board_of)
        self._noise = random.standard_normal((NOISE_ROWS, 2, M))
        self._row = 0
        self.current = np.zeros(ends)
        # A motor is held in place, as that of a balanced or hand-held arm, until it gets current after it was enabled.
        self._driven = np.zeros(ends, dtype=bool)
        self._steps, self._weights = 0, dict[str, tuple[int, Array]]()
        self.failed: dict[tuple[int, int], float] = {}
        self._inputs = {switch.name: switch for switch in configuration.inputs}
        self.pressed: dict[str, bool] = {}
        self.hands: dict[str, HandOnTip] = {}
        self.discs = {wired.name: Discs() for wired in self._wired if wired.stepped.arm.carries == "instrument"}
        for name in self._inputs:
            self.press(name, name.endswith(("_tool", "_adapter")))
        for name, board in configuration.chips.items():
            if name in self.discs:
                boards.chips[board] = chip_memory(scene.arms[name].arm.instrument)
        self._set_up = None
        if configuration.set_up and scene.cart is not None:
            self._set_up = SetUpMultiplexer(configuration, boards, scene.cart, self.channel)
        counts = np.zeros(M)
        counts[self._channels] = self._counts(self._actuators())
        boards.timers = EncoderTimers(counts)
        self._sense(self._actuators())
        boards.prepare(0.0)

    def _wire(self, robots: Iterable[IORobot], N: int) -> None:
        """Scales of all actuators, brakes and grippers as arrays, and the maps from the scene's state."""
        scene, robots = self.scene, list(robots)
        actuators = [actuator for robot in robots for actuator in robot.actuators]
        self._channels = np.array([self.channel(each) for each in actuators], dtype=int)
        if len(set(self._channels.tolist())) != N:
            raise TrocarError("two actuators of the IO files have the same board and axis")
        self._positions, self._pots = np.zeros((N, scene.model.nq)), np.zeros((N, N))
        for robot, wired in zip(robots, self._wired, strict=True):
            stepped, part = wired.stepped, wired.part
            self._positions[part, stepped.q] = np.linalg.inv(stepped.arm.motors.coupling) @ stepped.D_measured
            self._pots[part, part] = np.linalg.inv(robot.coupling)
        self._per_effort = np.array([each.current for each in actuators])
        self._command, self._feedback, self._encoder, voltage, pot = (
            np.array([(getattr(each, key).offset, getattr(each, key).scale) for each in actuators]).reshape(N, 2).T
            for key in ("command", "feedback", "encoder", "voltage", "potentiometer")
        )
        # bits = ((position - offset) / scale - offset of the voltage) / its scale
        self._pot_scale = 1.0 / (pot[1] * voltage[1])
        self._pot_offset = -(pot[0] / pot[1] + voltage[0]) / voltage[1]
        self._grippers = []
        for robot in self.configuration.robots:
            master = robot.name.removesuffix(GRIPPER)
            if master != robot.name and master in scene.arms and robot.actuators:
                stepped, actuator = scene.stepped[master], robot.actuators[0]
                stepped.gripper = 0.5 * (scene.arms[master].arm.gripper or (0.0, 0.0))[1]
                self._grippers.append((stepped, self.channel(actuator), actuator))

    def channel(self, drive: AmplifierChannel) -> int:
        """Channel of a board number and an axis; raises if the board has no such axis."""
        return self.channel_of(drive.board, drive.axis)

    def channel_of(self, board: int, axis: int) -> int:
        index = self.boards.index(board)
        if index is None or axis >= self.boards.kinds[index].motors:
            kind = "no board" if index is None else f"a {self.boards.kinds[index].name}"
            raise TrocarError(f"there is no axis {axis} on board {board}, which is {kind}")
        return int(self.boards.first[index]) + axis

    # -- hands on switches ---------------------------------------------------------------------------------------------

    def press(self, name: str, pressed: bool = True) -> None:
        """Press or release a switch of the IO files, such as PSM1_arm_clutch, PSM1_tool, clutch or coag."""
        check_known("digital input", self._inputs, name)
        switch = self._inputs[name]
        index = self.boards.index(switch.board)
        high = pressed != switch.pressed_low
        level = 1 << switch.bit
        self.boards.inputs[index] = self.boards.inputs[index] | level if high else self.boards.inputs[index] & ~level
        self.pressed[name] = pressed

    def hold(self, name: str) -> HandOnTip:
        """A hand on the tip of an arm, taken now unless it is held already."""
        check_known("arm of the scene", self.scene.arms, name)
        if name not in self.hands:
            self.hands[name] = HandOnTip(self.scene.arms[name], self.period)
        return self.hands[name]

    def let_go(self, name: str) -> None:
        """Take the hand off an arm."""
        check_known("arm of the scene", self.scene.arms, name)
        if name in self.hands:
            self.hands.pop(name).let_go()

    def insert(self, name: str) -> None:
        """Mount the sterile adapter and the instrument that the scene has; the discs engage when they turn."""
        self._mount(name, True).mounted = True

    def remove(self, name: str) -> None:
        """Take instrument and adapter off: the discs are free."""
        part = next(wired.part for wired in self._wired if wired.name == name) if name in self.discs else slice(0)
        self._mount(name, False).remove(self._actuators()[part][DISCS])

    def _mount(self, name: str, mounted: bool) -> Discs:
        check_known("arm with an instrument", self.discs, name)
        for switch in ("adapter", "tool"):
            if f"{name}_{switch}" in self._inputs:
                self.press(f"{name}_{switch}", mounted)
        return self.discs[name]

    # -- physics -------------------------------------------------------------------------------------------------------

    def _actuators(self) -> Array:
        """True positions of all actuators (A,)."""
        return np.asarray(self._positions.dot(self.scene.data.qpos))

    def _counts(self, positions: Array) -> Array:
        return np.asarray((positions - self._encoder[0]) / self._encoder[1])

    @property
    def moving(self) -> bool:
        """A motor has current, or a hand holds an arm."""
        return bool(self.boards.on.any() or self.hands)

    def step(self) -> None:
        """Advance by one period: currents of the boards act, then the sensors are read."""
        boards, channels = self.boards, self._channels
        self._steps += 1
        for hand in self.hands.values():
            hand.act()
        boards.settle(self.time)
        amperes = (boards.dac[channels] - self._command[0]) / self._command[1]
        current = np.where(boards.on[channels], amperes, 0.0)
        for (board, axis), value in self.failed.items():
            current[channels == self.channel_of(board, axis)] = value
        self.current = current
        self._driven = (self._driven | (np.abs(current) > MIN_CURRENT)) & boards.on[channels]
        efforts = current / self._per_effort
        held = ~self._driven
        held_any = self._supported and held.any()
        free = [name for name, discs in self.discs.items() if not discs.all_engaged]
        for wired in self._wired:
            part, stepped, motors = wired.part, wired.stepped, efforts[wired.part]
            if len(wired.brakes.channels):
                self._act_brakes(wired)
            if held_any and held[part].any():
                motors = np.where(held[part], stepped.motor_from_joint.dot(self._weight(wired.name)), motors)
            if wired.name in free:  # friction of the instrument holds its wrist
                weight = stepped.motor_from_joint.dot(self._weight(wired.name))
                motors = motors.copy()
                motors[DISCS] = np.where(self.discs[wired.name].engaged, motors[DISCS], weight[DISCS])
            stepped.command_motors(motors)
        for name in self._idle_arms:
            self.scene.stepped[name].command(self._weight(name))
        self.scene.advance()
        before, self.time = self.time, self.time + self.period
        positions = self._actuators()
        for wired in self._wired:
            if wired.name in free:
                angles = positions[wired.part][DISCS]
                angles[:] = self.discs[wired.name].step(efforts[wired.part][DISCS], angles, self.period)
        counts = boards.timers.position.copy()
        counts[channels] = self._counts(positions)
        if self._set_up is not None:
            counts[self._set_up.channels] = self._set_up.lines
        boards.timers.move(counts, before, self.time)
        self._sense(positions)
        boards.check_currents(self.time)

    def rest(self, until: float) -> None:
        """Let time pass without motion: nothing is powered."""
        self.time = max(self.time, until)

    def _weight(self, name: str) -> Array:
        """Joint efforts (n,) against gravity and springs, kept for some steps: an arm that is held hardly moves."""
        last, efforts = self._weights.get(name, (-WEIGHT_STEPS, np.zeros(0)))
        if self._steps - last >= WEIGHT_STEPS:
            arm = self.scene.arms[name]
            last, efforts = self._weights[name] = self._steps, arm.mechanism.gravity(arm.q)
        return efforts

    def _act_brakes(self, wired: _Wired) -> None:
        boards, brakes = self.boards, wired.brakes
        channels = brakes.channels
        current = np.where(boards.on[channels], (boards.dac[channels] - brakes.command[0]) / brakes.command[1], 0.0)
        boards.currents[channels] = np.rint((current - brakes.feedback[0]) / brakes.feedback[1])
        released = bool((np.abs(current) > brakes.threshold).all())
        if released != brakes.released:
            self.scene.arms[wired.name].brakes = not released
            brakes.released = released

    def _sense(self, positions: Array) -> None:
        """Write the readings of potentiometers and current sensors."""
        boards, channels = self.boards, self._channels
        self._row = (self._row + 1) % NOISE_ROWS
        noise = self._noise[self._row][:, channels]
        pots = self._pots.dot(positions) * self._pot_scale + self._pot_offset + POT_NOISE * noise[0]
        currents = (self.current + CURRENT_NOISE * noise[1] - self._feedback[0]) / self._feedback[1]
        both = np.rint(np.minimum(np.maximum((pots, currents), 0.0), MAX_BITS)).astype(np.int64)
        boards.pots[channels], boards.currents[channels] = both
        if self._set_up is not None:
            self._set_up.sense(self.scene.cart)
        for stepped, channel, actuator in self._grippers:
            pot = actuator.potentiometer
            volts = (stepped.gripper - pot.offset) / pot.scale
            boards.pots[channel] = _bits((volts - actuator.voltage.offset) / actuator.voltage.scale)

    def truth(self) -> dict[str, Mapping[str, object]]:
        """True state of every arm: joints [rad, m], tip in its base (4, 4) and contact wrench [N, N m]."""
        return {
            name: {
                "q": arm.q.tolist(),
                "dq": arm.dq.tolist(),
                "tip": arm.tip_pose().tolist(),
                "contact": arm.contact_wrench().tolist() if arm.arm.carries else [0.0] * 6,
            }
            for name, arm in self.scene.arms.items()
        }


def _warm_up(scene: Scene) -> None:
    """Take a step and return: the first one takes 60 ms, longer than a client waits for a reply."""
    snapshot = scene.snapshot()
    scene.step({name: arm.mechanism.gravity(arm.q) for name, arm in scene.arms.items()})
    scene.restore(snapshot)


def _bits(value: float) -> int:
    return round(min(max(value, 0.0), MAX_BITS))
