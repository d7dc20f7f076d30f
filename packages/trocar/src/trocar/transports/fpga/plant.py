"""The simulated robot on the wires of the boards: motors take currents; encoders, potentiometers and switches report.

The scales of the user's IO files are inverted, so that the errors of a calibration cancel as on the robot: a current of
1 A in the client is 1 A in the motor, and a position of the arm is the same position in the client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trocar.errors import TrocarError, check_known
from trocar.simulation import Scene
from trocar.simulation.stepped_arm import SteppedArm
from trocar.spatial import Array
from trocar.transports.fpga.discs import DISCS
from trocar.transports.fpga.edges import EncoderTimers
from trocar.transports.fpga.hands import HandOnTip
from trocar.transports.fpga.io_file import GRIPPER, ActuatorScales, AmplifierChannel, IOConfiguration, IORobot
from trocar.transports.fpga.lookup import PotTable
from trocar.transports.fpga.mounting import Mounting, warm_up
from trocar.transports.fpga.registers import DRAC, KINDS, Boards
from trocar.transports.fpga.set_up import BRAKE_SHARE, SET_UP, BrakedSetUp, SetUpMultiplexer

CURRENT_NOISE = 2e-3  # of measured currents [A]: ASSUMED, as in `trocar.robot`
POT_NOISE = 3.0  # of potentiometers [bits]: ASSUMED
NOISE_ROWS = 1021  # of the repeated table of noise
MIN_CURRENT = 3e-4  # smaller commands count as none [A]: one and a half bits
MAX_BITS = 65535
WEIGHT_STEPS = 8  # steps between calculations of the weight of an arm that is held


@dataclass(frozen=True)
class _Wired:
    """An arm on the boards: its name, its part of the actuators, the currents that open its brakes [A]."""

    name: str
    part: slice
    stepped: SteppedArm
    brakes: tuple[float, ...]


class _Gripper:
    """The potentiometer of a master's gripper."""

    def __init__(self, stepped: SteppedArm, actuator: ActuatorScales, channel: int) -> None:
        self.stepped, self._actuator, self._channel = stepped, actuator, channel
        self._opening = np.nan

    def sense(self, boards: Boards) -> None:
        if self.stepped.gripper == self._opening:
            return
        self._opening, actuator = self.stepped.gripper, self._actuator
        volts = (self._opening - actuator.potentiometer.offset) / actuator.potentiometer.scale
        bits = (volts - actuator.voltage.offset) / actuator.voltage.scale
        boards.pots[self._channel] = round(min(max(bits, 0.0), MAX_BITS))


class RobotPlant:
    """A scene whose motors are driven by boards.

    Args:
        scene: its arms have the names of the IO files. configuration: of the boards and axes.
        supported: motors that are off, or had no current yet, hold their joints against gravity; False: the arms sink.
        seed: of the noise.

    Attributes:
        boards: their registers. scene: the truth. time: of the boards' clock [s]. period: of a step [s].
        current: (A,) of the actuators [A]. notes: lines about what is not simulated.
        inputs: switches of the IO files by name. pressed: their states. hands: on the tips of arms, by name.
        mounting: adapters and instruments. set_up: set-up joints; None if no file names them.
        failed: measured and true current [A] of broken amplifiers, by board number and axis.
    """

    def __init__(self, scene: Scene, configuration: IOConfiguration, *, supported: bool = True, seed: int = 0) -> None:
        if any(arm.options.compensation is not None for arm in scene.arms.values()):
            raise TrocarError("the program that drives the boards is the controller of their arms; omit compensation")
        self.scene, self.configuration, self._supported = scene, configuration, supported
        self.period, self.time = scene.timestep, 0.0
        self._qpos = scene.data.qpos
        self.notes = list(configuration.notes)
        hardware = configuration.boards
        if not hardware:
            raise TrocarError("the configuration names no board: it has no robot and no digital input")
        for number, name in hardware.items():
            if name not in KINDS:
                raise TrocarError(f"board {number} is a {name}; trocar simulates {', '.join(KINDS)}")
        self.boards = boards = Boards({number: KINDS[name] for number, name in hardware.items()})
        robots = [robot for robot in configuration.robots if robot.name in scene.arms]
        for robot in configuration.robots:
            master = robot.name.removesuffix(GRIPPER)
            if robot not in robots and (master == robot.name or master not in scene.arms) and robot.name != SET_UP:
                self.notes.append(f"{robot.name} is no arm of the scene: its registers answer, nothing moves")
        warm_up(scene)
        self._wired, ends = [], 0
        for robot in robots:
            stepped = scene.stepped[robot.name]
            newer = stepped.arm.generation == "Si"
            if robot.io_only:
                raise TrocarError(f"the IO file of {robot.name} has no encoders, so that its arm cannot be simulated")
            if len(robot.actuators) != stepped.arm.n or (robot.hardware == DRAC.name) != newer:
                raise TrocarError(
                    f"{robot.name} has {len(robot.actuators)} actuators on {robot.hardware} boards in its IO file; the "
                    f"simulated arm is a {stepped.arm.name} with {stepped.arm.n}. Choose another scene"
                )
            part = slice(ends, ends := ends + stepped.arm.n)
            brakes = tuple(BRAKE_SHARE * abs(brake.released) for brake in robot.brakes)
            self._wired.append(_Wired(robot.name, part, stepped, brakes))
            if brakes and stepped.brakes:
                scene.arms[robot.name].brakes = True
        self._braked = [wired for wired in self._wired if wired.brakes]
        self._tables = [
            (wired.part, PotTable(robot.name, robot.lookup))
            for robot, wired in zip(robots, self._wired, strict=True)
            if robot.lookup is not None
        ]
        self._released = dict.fromkeys((wired.name for wired in self._braked), False)
        self._wire(robots, ends)
        self._idle_arms = [name for name in scene.arms if name not in {wired.name for wired in self._wired}]
        M = len(boards.board_of)
        self._noise = self._readings_at_zero(np.random.default_rng(seed).standard_normal((NOISE_ROWS, 2, M)))
        self._row = 0
        self.current = np.zeros(ends)
        # A motor is held in place, as that of a balanced or hand-held arm, until it gets current after it was enabled,
        # or two others of its arm do: then a PID controls all joints, and those with little error sag, too. One motor
        # alone has current while the dVRK searches the limit of a master's roll.
        self._driven, self._all_driven = np.zeros(ends, dtype=bool), False
        self._switch(boards.on)
        self._steps, self._weights = 0, dict[str, tuple[int, Array]]()
        self.failed: dict[tuple[int, int], float] = {}
        self.inputs = {switch.name: switch for switch in configuration.inputs}
        self.pressed: dict[str, bool] = {}
        self.hands: dict[str, HandOnTip] = {}
        for name in self.inputs:
            self.press(name, False)
        self.mounting = Mounting(self, [each.name for each in self._wired if each.stepped.arm.carries == "instrument"])
        for robot in robots:
            if robot.hardware == DRAC.name:  # the client compares it with its files
                boards.serials[robot.actuators[0].board] = f"{robot.name[0].lower()}{robot.serial}.cal"
        self._set_up, self.set_up = None, None
        if configuration.set_up and scene.cart is not None:
            self._set_up = SetUpMultiplexer(configuration, boards, scene.cart, self.channel)
            self.set_up = BrakedSetUp(configuration, boards, scene)
        counts = np.zeros(M)
        counts[self._channels] = self._counts(self._actuators())
        boards.timers = EncoderTimers(counts, boards.clocks)
        self._sense(self._actuators(), np.zeros(len(self._drives)))
        boards.prepare(0.0)

    def _wire(self, robots: Iterable[IORobot], N: int) -> None:
        """Scales of all actuators, brakes and grippers as arrays, and the maps from the scene's state."""
        scene, robots = self.scene, list(robots)
        actuators = [actuator for robot in robots for actuator in robot.actuators]
        self._channels = np.array([self.channel(each) for each in actuators], dtype=int)
        if len(set(self._channels.tolist())) != N:
            raise TrocarError("two actuators of the IO files have the same board and axis")
        self._positions, self._pots = self._actuator_map(), np.zeros((N, N))
        for robot, wired in zip(robots, self._wired, strict=True):
            self._pots[wired.part, wired.part] = np.linalg.inv(robot.coupling)
        self._per_effort = np.array([each.current for each in actuators])
        brakes = [brake for robot in robots for brake in robot.brakes]
        set_up = [each for robot in self.configuration.robots if robot.name == SET_UP for each in robot.actuators]
        drives: list[AmplifierChannel] = [*actuators, *brakes, *set_up]
        self._drives = np.array([self.channel(each) for each in drives], dtype=int)
        self._first_set_up = len(actuators) + len(brakes)  # of the drives
        self._command, self._feedback = _scales(drives, "command"), _scales(drives, "feedback")
        self._command[0] %= MAX_BITS + 1  # the client keeps the lower 16 bits
        self._encoder, voltage, pot = (_scales(actuators, key) for key in ("encoder", "voltage", "potentiometer"))
        # bits = ((position - offset) / scale - offset of the voltage) / its scale
        self._pots /= (pot[1] * voltage[1])[:, None]
        self._pot_offset = -(pot[0] / pot[1] + voltage[0]) / voltage[1]
        # potentiometers of the actuators, then currents of all drives, in the boards' table
        self._analog = np.concatenate([self._channels, len(self.boards.board_of) + self._drives])
        self._grippers = []
        for robot in self.configuration.robots:
            master = robot.name.removesuffix(GRIPPER)
            if master != robot.name and master in scene.arms and robot.actuators:
                stepped, actuator = scene.stepped[master], robot.actuators[0]
                stepped.gripper = 0.5 * (scene.arms[master].arm.gripper or (0.0, 0.0))[1]
                self._grippers.append(_Gripper(stepped, actuator, self.channel(actuator)))

    def _actuator_map(self) -> Array:
        """Actuator positions (A, nq) by the positions of the scene."""
        positions = np.zeros((self._wired[-1].part.stop if self._wired else 0, self.scene.model.nq))
        for wired in self._wired:
            stepped = wired.stepped
            positions[wired.part, stepped.q] = np.linalg.inv(stepped.arm.motors.coupling) @ stepped.D_measured
        return positions

    def adopt(self, scene: Scene) -> None:
        """Continue with a changed copy of the scene, which is in the same state."""
        for name, stepped in scene.stepped.items():
            before = self.scene.stepped[name]
            stepped.wrenches.memory, stepped.gripper = before.wrenches.memory, before.gripper
            if stepped.brakes and self.scene.arms[name].brakes:
                scene.arms[name].brakes = True
        for gripper in self._grippers:
            gripper.stepped = scene.stepped[
                next(n for n, each in self.scene.stepped.items() if each is gripper.stepped)
            ]
        for name, hand in self.hands.items():
            hand.arm = scene.arms[name]
        self.scene, self._qpos = scene, scene.data.qpos
        if self.set_up is not None:
            self.set_up.adopt(scene)
        self._wired = [replace(wired, stepped=scene.stepped[wired.name]) for wired in self._wired]
        self._braked = [wired for wired in self._wired if wired.brakes]
        self._positions = self._actuator_map()
        self._weights.clear()

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
        check_known("digital input", self.inputs, name)
        switch = self.inputs[name]
        self.boards.set_input(self.boards.numbers.index(switch.board), switch.bit, pressed != switch.pressed_low)
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

    # -- physics -------------------------------------------------------------------------------------------------------

    def _actuators(self) -> Array:
        """True positions of all actuators (A,)."""
        return np.asarray(self._positions.dot(self._qpos))

    def actuators(self, name: str) -> Array:
        """True positions of the actuators (n,) of an arm."""
        return self._actuators()[next(wired.part for wired in self._wired if wired.name == name)]

    def _counts(self, positions: Array) -> Array:
        return np.asarray((positions - self._encoder[0]) / self._encoder[1])

    @property
    def moving(self) -> bool:
        """A motor has current, or a hand holds an arm."""
        return self.boards.powered or bool(self.hands)

    def step(self) -> None:
        """Advance by one period: currents of the boards act, then the sensors are read."""
        boards, N, discs = self.boards, len(self._channels), self.mounting.discs
        self.mounting.update()
        self._steps += 1
        for hand in self.hands.values():
            hand.act()
        boards.settle(self.time)
        if boards.on is not self._on:
            self._switch(boards.on)
        current = (boards.dac.take(self._drives) - self._command[0]) / self._command[1]
        for (board, axis), value in self.failed.items():
            current[self._drives == self.channel_of(board, axis)] = value
        if not self._all_on:  # a broken amplifier needs its supply, too
            current *= self._drives_on
        self.current = current[:N]
        if not self._all_driven:
            flowing = np.abs(self.current) > MIN_CURRENT
            for wired in self._wired:
                self._driven[wired.part] |= flowing[wired.part] | (np.count_nonzero(flowing[wired.part]) > 1)
            self._driven &= self._drives_on[:N]
            self._all_driven = bool(self._driven.all())
        efforts = self.current / self._per_effort
        free = [wired for wired in self._wired if wired.name in discs and not discs[wired.name].all_engaged]
        self._act(self._supporting(efforts, free) if free or not self._all_driven else efforts)
        if self._braked:
            self._act_brakes(current[N : self._first_set_up].tolist())
        if self.set_up is not None and not self.mounting.changing:
            self.set_up.step(current[self._first_set_up :].tolist(), self.period)
        self.scene.advance()
        before, self.time = self.time, self.time + self.period
        positions = self._actuators()
        for wired in free:
            angles = positions[wired.part][DISCS]
            angles[:] = discs[wired.name].step(efforts[wired.part][DISCS], angles, self.period)
        counts = boards.timers.position.copy()
        counts[self._channels] = self._counts(positions)
        if self._set_up is not None:
            counts[self._set_up.channels] = self._set_up.lines
        boards.timers.move(counts, before, self.time)
        self._sense(positions, current)
        boards.check_currents(self.time)

    def _switch(self, on: Array) -> None:
        """Amplifiers were switched on or off."""
        self._on, self._drives_on = on, on.take(self._drives)
        self._all_on = bool(self._drives_on.all())
        self._all_driven = False

    def _supporting(self, efforts: Array, free: Iterable[_Wired]) -> Array:
        """Motor efforts with those that hold arms without current, and instruments on free discs."""
        motors = efforts.copy()
        for wired in self._wired if self._supported else ():
            held = ~self._driven[wired.part]
            if held.any():
                np.copyto(motors[wired.part], self._motor_weight(wired), where=held)
        for wired in free:  # friction of the instrument holds its wrist
            engaged = self.mounting.discs[wired.name].engaged
            np.copyto(motors[wired.part][DISCS], self._motor_weight(wired)[DISCS], where=~engaged)
        return motors

    def _act(self, motors: Array) -> None:
        """Set the efforts of all motors."""
        for wired in self._wired:
            wired.stepped.command_motors(motors[wired.part])
        for name in self._idle_arms:
            self.scene.stepped[name].command(self._weight(name))

    def rest(self, until: float) -> None:
        """Let time pass without motion: nothing is powered."""
        self.mounting.update()
        self.time = max(self.time, until)

    def _weight(self, name: str) -> Array:
        """Joint efforts (n,) against gravity and springs, kept for some steps: an arm that is held hardly moves."""
        last, efforts = self._weights.get(name, (-WEIGHT_STEPS, np.zeros(0)))
        if self._steps - last >= WEIGHT_STEPS:
            arm = self.scene.arms[name]
            last, efforts = self._weights[name] = self._steps, arm.mechanism.gravity(arm.q)
        return efforts

    def _motor_weight(self, wired: _Wired) -> Array:
        return np.asarray(wired.stepped.motor_from_joint.dot(self._weight(wired.name)))

    def _act_brakes(self, current: list[float]) -> None:
        """Open or close brakes by their currents [A], in the order of the arms."""
        first = 0
        for wired in self._braked:
            brakes = wired.brakes
            released = all(abs(i) > least for i, least in zip(current[first:], brakes, strict=False))
            first += len(brakes)
            if released != self._released[wired.name]:
                self._released[wired.name] = released
                if wired.stepped.brakes:
                    self.scene.arms[wired.name].brakes = not released

    def _readings_at_zero(self, noise: Array) -> Array:
        """Readings of potentiometers and currents [bits] for positions and currents of zero; every row has other noise.

        `noise` (rows, 2, M) is normally distributed.
        """
        offset, scale = self._feedback
        pots = POT_NOISE * noise[:, 0, self._channels] + self._pot_offset
        amperes = CURRENT_NOISE * noise[:, 1, self._drives]
        amperes[:, len(self._channels) :] = 0.0
        return np.concatenate([pots, (amperes - offset) / scale], axis=1)

    def _sense(self, positions: Array, current: Array) -> None:
        """Write the readings of potentiometers and current sensors."""
        boards, N = self.boards, len(positions)
        self._row = (self._row + 1) % NOISE_ROWS
        readings = self._noise[self._row].copy()
        readings[:N] += self._pots.dot(positions)
        readings[N:] += current / self._feedback[1]
        np.minimum(np.maximum(readings, 0.0, out=readings), MAX_BITS, out=readings)
        for part, table in self._tables:
            readings[part] = table.bits(positions[part])
        boards.analog.ravel()[self._analog] = np.rint(readings)
        if self._set_up is not None:
            self._set_up.sense(self.scene.cart)
        for gripper in self._grippers:
            gripper.sense(boards)

    def joints(self) -> dict[str, dict[str, list[float]]]:
        """True joints [rad, m] of every arm and their rates."""
        return {name: {"q": arm.q.tolist(), "dq": arm.dq.tolist()} for name, arm in self.scene.arms.items()}

    def truth(self, *arms: str) -> dict[str, Mapping[str, object]]:
        """True state of arms, by default all: joints [rad, m], tip in its base (4, 4), contact wrench [N, N m]."""
        check_known("arm of the scene", self.scene.arms, *arms)
        return {
            name: {
                **joints,
                "tip": self.scene.arms[name].tip_pose().tolist(),
                "contact": (
                    self.scene.arms[name].contact_wrench().tolist() if self.scene.arms[name].arm.carries else [0.0] * 6
                ),
            }
            for name, joints in self.joints().items()
            if not arms or name in arms
        }


def _scales(channels: Sequence[AmplifierChannel], key: str) -> Array:
    """Offsets and scales (2, k) of channels."""
    pairs = [(getattr(each, key).offset, getattr(each, key).scale) for each in channels]
    return np.ascontiguousarray(np.array(pairs).reshape(-1, 2).T)
