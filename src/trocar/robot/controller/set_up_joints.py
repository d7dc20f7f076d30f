"""Set-up joints of the cart: positions, and the resulting base frames of the arms."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.mechanics.cart import Cart
from trocar.robot import messages as m
from trocar.robot.controller.loop import ControlLoop
from trocar.robot.controller.states import ENABLED, Inbox, OperatingStates, Refused
from trocar.robot.interface import SUJ, SUJ_ARM, Interface
from trocar.spatial import Array, inverse


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
        self._inbox = Inbox(TrocarError)
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
