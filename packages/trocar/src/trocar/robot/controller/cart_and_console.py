"""Other devices: set-up joints of the cart and the base frames of its arms, system, console with its pedals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.mechanics.cart import Cart
from trocar.robot import messages as m
from trocar.robot.bus import Bus
from trocar.robot.controller.arm import ArmController
from trocar.robot.controller.loop import ControlLoop
from trocar.robot.controller.states import ENABLED, CommandQueue, OperatingStates, Refused
from trocar.robot.interface import CONSOLE, FOOT_PEDALS, PEDALS, SUJ, SUJ_ARM, SYSTEM, Interface
from trocar.spatial import Array, inverse

SCALE = 0.2  # initial scale of teleoperation


class SetUpJoints:
    """The SUJ device of a scene with a cart: braked joints, moved by hand or by `move_jp`, not by motors.

    PSM poses are in the view of the reference arm, the ECM; poses of the reference arm itself are in the cart frame.
    The base frame follows the ECM's joints even while the ECM is off.

    Attributes:
        mounts: places on the cart by arm. released: arms with the clutch pressed, whose base can be moved by hand.
    """

    def __init__(self, loop: ControlLoop) -> None:
        self._loop = loop
        self._bases: tuple[Cart | None, dict[str, Array]] = None, {}  # base poses of the arms of a cart, in the world
        self._frames: dict[str, Array] = {}  # base poses of the arms in the view of the reference arm
        self._moment: Any = None  # cycle, cart and reference of the frames
        self._place: Any = None  # cart, reference and its joints
        self.reference = "ECM"
        self.mounts = {arm: mount for arm in loop.scene.arms if (mount := loop.scene.mount(arm)) is not None}
        self.released: set[str] = set()
        self._inbox = CommandQueue(TrocarError)
        self.states = self._add("SUJ", SUJ, {}, {"set_reference_arm": self._set_reference})
        for arm in self.mounts:
            states = {
                "measured_js": partial(self._joints, arm),
                "measured_cp": partial(self._pose, arm, True),
                "local/measured_cp": partial(self._pose, arm, False),
            }
            self._add(f"SUJ/{arm}", SUJ_ARM, states, {"move_jp": partial(self._move, arm)})

    def _add(self, name: str, interface: Interface, sources: Any, handlers: dict[str, Any]) -> OperatingStates:
        """Add a device without motors: every valid state command leaves it enabled and homed."""
        bus, states = self._loop.bus, OperatingStates(self._loop.bus, name)

        def state_command(message: m.String) -> None:
            states.check(message.value)
            states.publish()

        handlers = {**handlers, "state_command": state_command}
        commands = {key: self._inbox.accept(handler) for key, handler in handlers.items()}
        services = {"operating_state": lambda: states.message(self._loop.now)}
        bus.add(name, interface, states=sources, commands=commands, services=services)
        states.set(ENABLED, homed=True)
        return states

    def update(self) -> None:
        self._inbox.execute(self.states)

    def base_frame(self, arm: str) -> tuple[Array, str]:
        """Base (4, 4) of an arm in the view of the reference arm, and the name of that frame.

        Computed once per cycle; the same array until something moves.
        """
        if arm == self.reference or self.reference not in self._loop.scene.arms:
            return self._base(arm), "Cart"
        loop, cart = self._loop, self._loop.scene.cart  # moving its joints creates a new cart object
        moment = loop.cycle, id(cart), self.reference
        if moment != self._moment:
            self._moment = moment
            sim, part = loop.scene.arms[self.reference], loop.parts.get(self.reference)
            q = sim.q if part is None else loop.q[part]  # true joints if it is not controlled
            place = id(cart), self.reference, q.tobytes()
            if place != self._place:
                T_base_tip = sim.tip_pose() if part is None else sim.mechanism.forward_kinematics(q)
                T_view_world = inverse(self._base(self.reference) @ T_base_tip)
                self._place, self._frames = place, {name: T_view_world @ self._base(name) for name in self.mounts}
        return self._frames[arm], self.reference

    def _base(self, arm: str) -> Array:
        """Base (4, 4) of an arm in the cart, computed once for every pose of the set-up joints."""
        scene = self._loop.scene
        if self._bases[0] is not scene.cart:
            self._bases = scene.cart, {name: scene.T_world_base(name) for name in scene.arms}
        return self._bases[1][arm]

    def _joints(self, arm: str) -> m.JointState:
        cart = self._loop.scene.cart
        assert cart is not None
        mount = self.mounts[arm]
        q = np.array(cart.q_setup[mount], dtype=float)
        return m.JointState(stamp=self._loop.now, name=cart.set_up(mount).joint_names, position=q)

    def _pose(self, arm: str, reference: bool) -> m.Pose:
        T, frame = self.base_frame(arm) if reference else (self._base(arm), "Cart")
        return m.Pose(stamp=self._loop.now, frame_id=frame, T=T)

    def _move(self, arm: str, message: m.JointState) -> None:
        self._loop.scene.set_up(arm, message.position)

    def _set_reference(self, message: m.String) -> None:
        if message.value not in self.mounts:
            raise Refused(f"set_reference_arm, {message.value!r} is not one of {', '.join(self.mounts)}")
        self.reference = message.value

    def press_clutch(self, arm: str, pressed: bool) -> None:
        """Press or release the SUJ clutch of an arm, which releases and engages the brakes of its set-up joints."""
        buttons = (m.Joy.PRESSED if pressed else m.Joy.RELEASED,)
        self._loop.bus.publish(f"{arm}/IO/SUJ_clutch", m.Joy(buttons=buttons))
        (self.released.add if pressed else self.released.discard)(arm)
        self.states.status(f"{arm} brakes {'released' if pressed else 'engaged'}")

    def move_by_hand(self, arm: str, q_setup: ArrayLike) -> None:
        """Place the set-up joints of an arm with released brakes."""
        if arm not in self.released:
            raise Refused(f"the brakes of the set-up joints of {arm} are engaged; press its SUJ clutch first")
        self._loop.scene.set_up(arm, q_setup)


class SystemController:
    """Power and homing of all arms; speech is published as status."""

    def __init__(self, bus: Bus, arms: Mapping[str, ArmController]) -> None:
        self._bus, self._arms, texts = bus, arms, OperatingStates(bus, "system")
        self.status, self.warning = texts.status, texts.warning
        handlers: dict[str, Callable[[Any], None]] = {
            "power_on": lambda _: self._all("enable", lambda arm: arm.state_command("enable")),
            "power_off": lambda _: self._all("disable", lambda arm: arm.state_command("disable")),
            "home": lambda _: self._all("home", lambda arm: arm.request("HOMED")),
            "set_volume": self._set_volume,
            "beep": lambda message: self.status(f"beep {' '.join(f'{x:g}' for x in message.values)}"),
            "string_to_speech": lambda message: self.status(f"speech {message.value!r}"),
        }
        bus.add("system", SYSTEM, commands=handlers)
        bus.publish("system/volume", m.Float(value=0.5))

    def _all(self, command: str, action: Callable[[ArmController], None]) -> None:
        self.status(f"{command} all arms")
        for arm in self._arms.values():
            arm.post(action)

    def _set_volume(self, message: m.Float) -> None:
        if 0.0 <= message.value <= 1.0:
            self._bus.publish("system/volume", m.Float(value=message.value))
        else:
            self.warning(f"set_volume, volume must be within [0;1], received {message.value:g}")


class ConsoleController:
    """Pedals, and the pairs of arms selected for teleoperation. It moves no arm itself.

    Pedals are set through `console/emulate_*` and published as `console/*` and, for older scripts, `footpedals/*`.
    """

    def __init__(self, bus: Bus, system: SystemController, pairs: tuple[str, ...]) -> None:
        self._bus, self._system, self.pairs = bus, system, pairs
        self.selected: list[str] = []
        handlers: dict[str, Callable[[Any], None]] = {
            "teleop/enable": self._enable,
            "teleop/set_scale": self._set_scale,
            "teleop/select": lambda message: self.select(message.value),
            "teleop/unselect": lambda message: self.unselect(message.value),
        }
        handlers |= {f"emulate_{pedal}": partial(self._press, pedal) for pedal in PEDALS}
        bus.add("console", CONSOLE, commands=handlers)
        bus.add("footpedals", FOOT_PEDALS)
        for pedal in PEDALS:
            self._press(pedal, m.Joy(buttons=(m.Joy.RELEASED,)))
        bus.publish("console/teleop/enabled", m.Bool(value=False))
        bus.publish("console/teleop/scale", m.Float(value=SCALE))
        for pair in pairs:
            if not self._sharing(pair):
                self.select(pair)

    def _press(self, pedal: str, message: m.Joy) -> None:
        for prefix in ("console", "footpedals"):
            self._bus.publish(f"{prefix}/{pedal}", m.Joy(buttons=message.buttons, axes=message.axes))

    def _enable(self, message: m.Bool) -> None:
        self._bus.publish("console/teleop/enabled", m.Bool(value=bool(message.value)))

    def _set_scale(self, message: m.Float) -> None:
        if 0.0 < message.value <= 1.0:
            self._bus.publish("console/teleop/scale", m.Float(value=message.value))
        else:
            self._system.warning(f"teleop/set_scale, scale must be within ]0;1], received {message.value:g}")

    def select(self, pair: str) -> None:
        """Select a pair such as MTMR_PSM1, and unselect those that share an arm with it."""
        if pair not in self.pairs:
            self._system.warning(f"teleop/select, {pair!r} is not one of {', '.join(self.pairs) or 'none'}")
            return
        for other in self._sharing(pair):
            self.unselect(other)
        self.selected.append(pair)
        self._bus.publish("console/teleop/selected", m.String(value=pair))

    def unselect(self, pair: str) -> None:
        if pair in self.selected:
            self.selected.remove(pair)
            self._bus.publish("console/teleop/unselected", m.String(value=pair))

    def _sharing(self, pair: str) -> list[str]:
        arms = set(pair.split("_"))
        return [other for other in self.selected if arms & set(other.split("_"))]
