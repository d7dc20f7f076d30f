"""Set-up joints of the cart: positions, and the resulting base frames of the arms."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.mechanics.cart import Cart
from trocar.robot import messages as m
from trocar.robot.controller.loop import ControlLoop
from trocar.robot.controller.states import ENABLED, OperatingStates, Refused
from trocar.robot.interface import SUJ, SUJ_ARM
from trocar.spatial import Array, inverse


class SetUpJoints:
    """The SUJ device of a scene with a cart: braked joints, moved by hand or by `move_jp`, not by motors.

    PSM poses are in the view of the reference arm, the ECM; poses of the reference arm itself are in the cart frame.
    The base frame follows the ECM's joints even while the ECM is off.

    Attributes:
        mounts: places on the cart by arm. released: arms with the clutch pressed, whose base can be moved by hand.
    """

    def __init__(self, loop: ControlLoop, name: str = "SUJ") -> None:
        assert loop.scene.cart is not None
        self._loop, self.name = loop, name
        self._bases: tuple[Cart | None, dict[str, Array]] = None, {}  # base poses of the arms of a cart, in the world
        self._views: tuple[Any, Array, dict[str, Array]] = None, np.eye(4), {}
        self._seen: tuple[int, int, str] = -1, 0, ""  # cycle, cart and reference of the views
        self.reference = "ECM"
        self.mounts = {arm: mount for arm in loop.scene.arms if (mount := loop.scene.mount(arm)) is not None}
        self.released: set[str] = set()
        self._inbox: deque[tuple[Callable[[Any], None], m.Message]] = deque()
        self.states = OperatingStates(loop.bus, name)
        self._add_devices()
        self.states.set(ENABLED, homed=True)

    def _add_devices(self) -> None:
        bus = self._loop.bus
        commands: dict[str, Callable[[Any], None]] = {
            "state_command": partial(_state_command, self.states),
            "set_reference_arm": self._set_reference,
        }
        bus.add(
            self.name,
            SUJ,
            commands={key: self._accept(handler) for key, handler in commands.items()},
            services={"operating_state": partial(self._operating_state, self.states)},
        )
        for arm in self.mounts:
            states = OperatingStates(bus, f"{self.name}/{arm}")
            bus.add(
                f"{self.name}/{arm}",
                SUJ_ARM,
                states={
                    "measured_js": partial(self._joints, arm),
                    "measured_cp": partial(self._pose, arm, True),
                    "local/measured_cp": partial(self._pose, arm, False),
                },
                commands={
                    "move_jp": self._accept(partial(self._move, arm)),
                    "state_command": self._accept(partial(_state_command, states)),
                },
                services={"operating_state": partial(self._operating_state, states)},
            )
            states.set(ENABLED, homed=True)

    def _accept(self, handler: Callable[[Any], None]) -> Callable[[m.Message], None]:
        return lambda message: self._inbox.append((handler, message))

    def update(self) -> None:
        """Execute the received commands."""
        while self._inbox:
            handler, message = self._inbox.popleft()
            try:
                handler(message)
            except TrocarError as error:
                self.states.warning(str(error))

    def base_frame(self, arm: str) -> tuple[Array, str]:
        """Base (4, 4) of an arm in the view of the reference arm, and the name of that frame.

        Computed once per cycle; the same array until something moves.
        """
        if arm == self.reference or self.reference not in self._loop.scene.arms:
            return self._base(arm), "Cart"
        loop, cart = self._loop, self._loop.scene.cart  # moving its joints creates a new cart object
        now = loop.cycle, id(cart), self.reference
        if now != self._seen:
            q = self._reference_joints()
            key = id(cart), self.reference, q.tobytes()
            if self._views[0] != key:
                T_world_view = self._base(self.reference) @ self._reference_tip(q)
                self._views = key, inverse(T_world_view), {}
            self._seen = now
        T_view_world, frames = self._views[1:]
        if arm not in frames:
            frames[arm] = T_view_world @ self._base(arm)
        return frames[arm], self.reference

    def _base(self, arm: str) -> Array:
        """Base (4, 4) of an arm in the cart, computed once for every pose of the set-up joints."""
        cart = self._loop.scene.cart  # moving the set-up joints creates a new object
        if self._bases[0] is not cart:
            self._bases = cart, {}
        bases = self._bases[1]
        if arm not in bases:
            bases[arm] = self._loop.scene.T_world_base(arm)
        return bases[arm]

    def _reference_joints(self) -> Array:
        """Measured joints of the reference arm; true ones if it is not controlled."""
        arm = self._loop.scene.arms[self.reference]
        if self.reference not in self._loop.parts:
            return arm.q
        return self._loop.q[self._loop.parts[self.reference]]

    def _reference_tip(self, q: Array) -> Array:
        """Tip of the reference arm at joints q (n,)."""
        arm = self._loop.scene.arms[self.reference]
        return arm.tip_pose() if self.reference not in self._loop.parts else arm.mechanism.forward_kinematics(q)

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

    def _operating_state(self, states: OperatingStates) -> m.OperatingState:
        return states.message(self._loop.now)

    # -- hands ---------------------------------------------------------------------------------------------------------

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


def _state_command(states: OperatingStates, message: m.String) -> None:
    """The set-up joints have no motors: every valid command leaves them enabled and homed."""
    states.check(message.value)
    states.publish()
