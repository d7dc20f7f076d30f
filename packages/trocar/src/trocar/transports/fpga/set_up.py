"""Set-up joints of a Classic cart on their controller: potentiometers behind a multiplexer, brakes, and a lift.

Source: mtsIntuitiveResearchKitSUJ of sawIntuitiveResearchKit. The controller is a QLA. Each of its four analog inputs
belongs to one arm, and a multiplexer connects it to one of 16 voltages: six primary and six secondary potentiometers,
then supplies. Two digital outputs reset and step it; the A lines of the encoders report its position. The four
amplifiers open the brakes of the arms. The duty cycle of a third output drives the lift of the motorized arm, unless
the fourth output disables it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trocar import checks
from trocar.errors import TrocarError, check_known
from trocar.mechanics.cart import Cart
from trocar.simulation import Scene
from trocar.spatial import Array
from trocar.transports.fpga.io_file import ActuatorScales, AmplifierChannel, IOConfiguration
from trocar.transports.fpga.registers import Boards

SET_UP = "SUJ"  # name of the robot in the IO file
RESET, STEP = "nomuxreset", "muxincrement"  # its outputs, see `_plain`
POSITIONS, JOINTS = 16, 6  # of the multiplexer; potentiometers of an arm
HIGH, LOW = 0.5, 3.5  # positions of an encoder with A high and with A and B low [counts]
MAX_BITS = 65535
CONTROL, DISABLE = "controlpwm", "disablepwm"  # outputs of the lift
DUTY, LIFT_SPEED = 0.1, 0.02  # change of the duty cycle of 0.5, and the speed upwards that it causes [m/s]: ASSUMED
BRAKE_SHARE = 0.5  # of the current that keeps a brake open: ASSUMED
UPDATE_STEPS = 15  # steps between motions of the set-up joints: 10 ms
SPEED = 0.2  # of a hand on a joint [m/s, rad/s]


class SetUpMultiplexer:
    """Analog inputs of the set-up joints.

    Attributes:
        channels: (4,) of the controller. index: position of the multiplexer. lines: (4,) encoder positions [counts].
    """

    def __init__(
        self, configuration: IOConfiguration, boards: Boards, cart: Cart, channel: Callable[[AmplifierChannel], int]
    ) -> None:
        self._boards, self._pots = boards, configuration.set_up
        actuators: tuple[ActuatorScales, ...] = next(
            (robot.actuators for robot in configuration.robots if robot.name == SET_UP), ()
        )
        self._voltages = [actuator.voltage for actuator in actuators]
        self.channels = np.array([channel(actuator) for actuator in actuators], dtype=int)
        self._outputs = {
            _plain(output.name): (boards.index(output.board), 1 << output.bit) for output in configuration.outputs
        }
        self.index = 0
        boards.outputs.on_change = self._switch
        self.sense(cart)

    @property
    def lines(self) -> Array:
        return np.where(self.index >> np.arange(len(self.channels)) & 1, HIGH, LOW)

    def _switch(self, board: int, before: int, after: int) -> None:
        """Levels of outputs changed. The client inverts them: a rising edge there is a falling one in the register."""
        (stepped, step), (reset_at, reset) = (self._outputs.get(name, (None, 0)) for name in (STEP, RESET))
        if stepped == board and before & ~after & step:
            self.index = min(self.index + 1, POSITIONS - 1)
        if reset_at == board and after & reset:  # as long as it is low at the client
            self.index = 0

    def sense(self, cart: Cart | None) -> None:
        """Write the voltages of the selected potentiometers."""
        row, joint = divmod(self.index, JOINTS)
        for pots in self._pots:
            k = pots.plug - 1
            if cart is None or not 0 <= k < len(self.channels) or pots.arm not in cart.q_setup:
                continue
            q = cart.q_setup[pots.arm]
            volts = 0.0
            if row < 2 and joint < len(q) and pots.scales[row, joint]:
                volts = (q[joint] - pots.offsets[row, joint]) / pots.scales[row, joint]
            bits = (volts - self._voltages[k].offset) / self._voltages[k].scale
            self._boards.pots[self.channels[k]] = round(min(max(bits, 0.0), MAX_BITS))


@dataclass
class _Push:
    """A hand that moves one joint: its place, where it starts and ends, time passed and duration [s]."""

    joint: int
    start: float
    goal: float
    duration: float
    elapsed: float = 0.0


class BrakedSetUp:
    """Brakes, lift and hands. Joints move only while their brakes are open, the lift only while it is enabled.

    Attributes:
        released: arms with open brakes. refused: reason why the last motion ended; empty if there is none.
    """

    def __init__(self, configuration: IOConfiguration, boards: Boards, scene: Scene) -> None:
        self._boards, self._arms = boards, {pots.arm: pots for pots in configuration.set_up}
        self._outputs = {_plain(output.name): output for output in configuration.outputs}
        self._pushes: dict[str, _Push] = {}
        self._elapsed, self._steps = 0.0, 0
        self._scene = scene
        self.released: set[str] = set()
        self.refused = ""

    def adopt(self, scene: Scene) -> None:
        """Continue with a changed copy of the scene."""
        self._scene = scene

    def push(self, arm: str, joint: int, goal: float, duration: float | None = None) -> None:
        """Move a set-up joint (from 1) of an arm to a position [m, rad], as by hand. Default: at 0.2 m/s or rad/s."""
        cart, pots = self._scene.cart, self._arms.get(arm)
        check_known("arm with set-up joints", [name for name in self._arms if cart and name in cart.q_setup], arm)
        assert cart is not None
        assert pots is not None
        q = cart.q_setup[arm]
        index = checks.count("set-up joint", joint, 1, len(q)) - 1
        if index == 0 and pots.motorized:
            raise TrocarError(f"joint 1 of {arm} is a lift; its motor moves it, not a hand")
        if arm not in self.released:
            raise TrocarError(f"the brakes of the set-up joints of {arm} are closed; press its SUJ clutch first")
        other = np.array(q)
        other[index] = goal
        cart.moved({arm: other})  # checks the limits
        seconds = abs(goal - q[index]) / SPEED if duration is None else duration
        self.refused = ""
        self._pushes[arm] = _Push(index, float(q[index]), goal, max(seconds, 1e-3))

    def step(self, currents: Sequence[float], period: float) -> None:
        """Act for a period [s] with these currents [A] of the four amplifiers."""
        self.released = {
            name
            for name, pots in self._arms.items()
            if pots.plug <= len(currents) and abs(currents[pots.plug - 1]) > BRAKE_SHARE * abs(pots.release)
        }
        self._elapsed += period
        self._steps += 1
        if self._steps % UPDATE_STEPS == 0:
            elapsed, self._elapsed = self._elapsed, 0.0
            self._move(elapsed)

    def _move(self, elapsed: float) -> None:
        for name in list(self._pushes):
            if name not in self.released:
                del self._pushes[name]
                continue
            push = self._pushes[name]
            push.elapsed += elapsed
            share = 0.5 - 0.5 * math.cos(math.pi * min(push.elapsed / push.duration, 1.0))
            if push.elapsed >= push.duration:
                del self._pushes[name]
            self._place(name, push.joint, push.start + share * (push.goal - push.start))
        speed = self._lift_speed()
        for name, pots in self._arms.items():
            if speed and pots.motorized and self._scene.cart is not None and name in self._scene.cart.q_setup:
                facts = self._scene.cart.set_up(name)
                q = self._scene.cart.q_setup[name][0] + elapsed * speed
                self._place(name, 0, float(np.clip(q, facts.lower[0], facts.upper[0])))

    def _lift_speed(self) -> float:
        """Upwards [m/s]; 0 if the lift is disabled or its output is constant."""
        boards = self._boards
        control, disable = self._outputs.get(CONTROL), self._outputs.get(DISABLE)
        if control is None or disable is None:
            return 0.0
        board, switch = boards.index(control.board), boards.index(disable.board)
        if (
            board is None or switch is None or not boards.outputs.levels[switch] >> disable.bit & 1
        ):  # levels are inverted
            return 0.0
        times = int(boards.outputs.times[boards.first[board] + control.bit])
        high, low = times & 0xFFFF, times >> 16
        return LIFT_SPEED * (high / (high + low) - 0.5) / DUTY if high and low else 0.0

    def _place(self, name: str, joint: int, value: float) -> None:
        scene, cart = self._scene, self._scene.cart
        if cart is None:
            return
        q = np.array(cart.q_setup[name])
        q[joint] = value
        try:
            if name in scene.arms:
                scene.set_up(name, q)
            else:
                scene.cart = cart.moved({name: q})
        except TrocarError as error:
            self.refused = str(error)
            self._pushes.pop(name, None)


def _plain(name: str) -> str:
    """Name of an output without its style: NoMuxReset before release 2.4, no_mux_reset since."""
    return name.replace("_", "").lower()
