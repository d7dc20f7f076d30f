"""Mode, controller, gains and targets of an arm, and the hand that pushes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import viser

from trocar.errors import TrocarError
from trocar.runtime.controllers import CONTROLLERS, Mode, controllers_of
from trocar.runtime.session import Session
from trocar.spatial import Array
from trocar.view.page import BASE
from trocar.view.panels.entry import Entry
from trocar.view.panels.sliders import Sliders, inside
from trocar.view.panels.tip_target import HANDLE, TipTarget
from trocar.view.panels.user_actions import UserActions
from trocar.view.selection import Selection

SPRING = 50.0  # stiffness of the hand that pulls at the tip [N/m]
MOST_FORCE = 10.0  # [N]
FOLDERS = {Mode.joint: "Joint targets", Mode.torque: "Efforts", Mode.cartesian: "Tip target"}


class DrivingPanel:
    """Joint sliders, effort sliders, the target of the tip, and a push.

    Args:
        select: called with the name of the arm that the user chose.
        base: node of the scene that is the base of the arm.

    Attributes:
        mode, controller: their dropdowns. joints, efforts: sliders of the targets.
        tip: target of the tip. push: the typed force. grip: handle of the hand.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        session: Session,
        shown: Selection,
        select: Callable[[str], None],
        base: str = BASE,
    ) -> None:
        gui = server.gui
        self._session, self._shown, on = session, shown, UserActions(session.messages)
        self._lock = threading.RLock()  # guards the displayed and the commanded values
        control = shown.state.control
        assert control is not None
        self._arm: Any = gui.add_dropdown(
            "Arm", session.arms, initial_value=shown.name, visible=not shown.alone, hint="the others hold their targets"
        )
        self.mode: Any = gui.add_dropdown("Mode", [m.value for m in Mode], initial_value=control.mode.value)
        self.controller: Any = gui.add_dropdown(
            "Controller", controllers_of(control.mode), initial_value=control.controller
        )
        self._about = gui.add_markdown(CONTROLLERS[control.controller].about)
        self._gains_folder = gui.add_folder("Gains", expand_by_default=False)
        self._gains = Sliders(gui, self._gains_folder, on(lambda _: self._on_gains()))
        self._folders = {mode: gui.add_folder(title, visible=False) for mode, title in FOLDERS.items()}
        self.joints = Sliders(gui, self._folders[Mode.joint], on(lambda _: self._on_joints()))
        with self._folders[Mode.torque]:
            zero = gui.add_button("Zero", icon=viser.Icon.EQUAL)
        self.efforts = Sliders(gui, self._folders[Mode.torque], on(lambda _: self._on_efforts()))
        with self._folders[Mode.cartesian]:
            self.tip = TipTarget(server, base, session, shown, on)
        with gui.add_folder("Push the tip", expand_by_default=False):
            self._hand: Any = gui.add_checkbox("Hand", False, hint="a handle that pulls at the tip like a spring")
            gui.add_markdown("Force in base axes:")
            forces = [f"{axis} [N]" for axis in "xyz"]
            self.push = Entry(gui, forces, 0.1, ("Push", viser.Icon.HAND_FINGER), on(lambda _: self._on_force()))
            release = gui.add_button("Let go", icon=viser.Icon.HAND_OFF)
        self.grip = server.scene.add_transform_controls(
            f"{base}/hand", scale=0.7 * HANDLE, disable_rotations=True, depth_test=False, visible=False
        )
        self._held = False  # True while someone drags the hand
        self._driven = control.controller  # controller in the last frame

        self._arm.on_update(on(lambda _: select(self._arm.value)))
        self.mode.on_update(on(lambda _: self.drive(controllers_of(Mode(self.mode.value))[0])))
        self.controller.on_update(on(lambda _: self.drive(self.controller.value)))
        zero.on_click(on(lambda _: self._zero_efforts()))
        release.on_click(on(lambda _: self._let_go()))
        self.grip.on_update(on(self._on_grip))
        self._show_arm(shown)

    def rebuild(self, shown: Selection) -> None:
        """Show another arm, or the same one with other limits."""
        another, self._shown = shown.name != self._shown.name, shown
        if another:
            self._show_arm(shown)
            return
        self.joints.limit(map(inside, shown.about.arm.joints))

    def reset(self, shown: Selection) -> None:
        """Set the targets to the arm's current state, as after a reset or a change of mode."""
        self.joints.show(shown.state.q)
        control = shown.state.control
        torque = control is not None and control.mode is Mode.torque
        self.efforts.show(control.target if control is not None and torque else np.zeros(shown.about.arm.n))
        self.tip.show(shown.state.T_tip)

    def refresh(self, shown: Selection) -> None:
        """Move the handles to their places; called whenever the arm is drawn."""
        control, tip = shown.state.control, shown.state.T_tip[:3, 3]
        if control is not None and control.controller != self._driven:  # perhaps changed by another browser
            self._driven = control.controller
            if self._driven != self.controller.value:
                self._show_controller(control.controller, control.gains)
        self.tip.handle.visible = control is not None and control.mode is Mode.cartesian
        self.grip.visible = hand = self._hand.value and control is not None
        if self._held:
            force = SPRING * (np.array(self.grip.position) - tip)
            self._push(force * min(1.0, MOST_FORCE / max(float(np.linalg.norm(force)), 1e-9)))
        elif hand:
            self.grip.position = tip

    # -- actions of the user ----------------------------------------------------------------------------------------

    def drive(self, controller: str) -> None:
        """Change the controller of the arm, with its default gains."""
        if controller not in CONTROLLERS:
            return
        self._show_controller(controller, CONTROLLERS[controller].default_gains)
        self._session.drive(controller, arm=self._shown.name)
        self.reset(Selection.of(self._session.settled(), self._shown.name))
        with self._lock:  # two browsers may choose at once: the last call shows the latest choice
            control = self._session.frame.arms[self._shown.name].control
            if control is not None and control.controller != self.controller.value:
                self._show_controller(control.controller, control.gains)

    # viser calls from many threads: values are read and applied under one lock, so the last applied ones are the newest

    def _on_joints(self) -> None:
        with self._lock:
            move = self._session.move_joints if self._session.frame.playing else self._session.place
            move(list(self.joints.values.values()), self._shown.name)

    def _on_efforts(self) -> None:
        with self._lock:
            self._session.set_effort(list(self.efforts.values.values()), self._shown.name)

    def _on_gains(self) -> None:
        with self._lock:
            self._session.retune(self._gains.values, self._shown.name)

    def _zero_efforts(self) -> None:
        self.efforts.show(np.zeros(self._shown.about.arm.n))
        self._on_efforts()

    def _on_grip(self, event: viser.TransformControlsEvent) -> None:
        self._held = event.phase != "end"
        if not self._held:
            self._let_go()

    def _on_force(self) -> None:
        with self._lock:
            force = self.push.values
            if np.abs(force).max() > MOST_FORCE:
                self.push.show(self._session.settled().arms[self._shown.name].force)
                raise TrocarError(f"forces must be from {-MOST_FORCE:g} to {MOST_FORCE:g} N, got {force.tolist()}")
            self._push(force)
            self.push.show(force)

    def _push(self, force: Array) -> None:
        self._session.push(force, self._shown.name)

    def _let_go(self) -> None:
        self._held = False
        self.push.show(np.zeros(3))
        self._push(np.zeros(3))

    # -- controls that depend on the arm or the controller -----------------------------------------------------------

    def _show_arm(self, shown: Selection) -> None:
        """Make the controls of an arm."""
        control, arm = shown.state.control, shown.about.arm
        assert control is not None
        self._arm.value = shown.name
        steps = {"rad": 0.001, "m": 0.0001}
        self.joints.make((j.name, j.unit, inside(j), steps[j.unit], inside(j)[0]) for j in arm.joints)
        self.efforts.make((j.name, j.effort_unit, (-j.effort, j.effort), j.effort / 500, 0.0) for j in arm.joints)
        self.tip.follow(shown)
        self._show_controller(control.controller, control.gains)
        self._hand.value = self._held = False
        self.push.show(np.zeros(3))
        self.joints.show(shown.state.q if shown.state.q_ref is None else shown.state.q_ref)
        if control.mode is Mode.torque:
            self.efforts.show(control.target)
        self.tip.show(shown.state.T_tip if shown.state.T_ref is None else shown.state.T_ref)

    def _show_controller(self, name: str, gains: Mapping[str, float]) -> None:
        kind = CONTROLLERS[name]
        with self._lock:  # several users and the page may change the controls
            self.mode.value = kind.mode.value
            self.controller.options = tuple(controllers_of(kind.mode))
            self.controller.value = name
            self._about.content = kind.about
            for mode, folder in self._folders.items():
                folder.visible = mode is kind.mode
            self._gains.make(
                (name, gain.unit, (gain.least, gain.most), (gain.most - gain.least) / 200, gains[name])
                for name, gain in kind.gains.items()
            )
            self._gains_folder.visible = bool(kind.gains)
