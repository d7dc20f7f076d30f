"""Commands to an arm: joint targets, tip target, efforts, control law with gains, and a push on the tip."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from typing import Any, ClassVar

import numpy as np
import viser

from trocar.robot import Robot
from trocar.robot.laws import LAWS
from trocar.robot.messages import ArmFrame, Bool, Empty, JointState
from trocar.spatial import Array, quaternion
from trocar.view.overlays import aim, arrows
from trocar.view.page import BASE, Page
from trocar.view.panel import RobotPanel, Selection
from trocar.view.panels.controls import HANDLE, STEPS, Entry, Sliders, TipTarget, inside

SPRING, MAX_PULL = 50.0, 10.0  # stiffness of the hand that pulls at the tip [N/m], and its largest force [N]
FOLDERS = {"joint": "Joint targets", "torque": "Efforts", "cartesian": "Tip target"}
FOLLOW_DELAY = 1.0  # real time after a user's action until the controls follow the arm's target again [s]
SAME = 1e-6  # difference of equal targets [rad, m, N m, N]


class ArmControls:
    """Controls of one arm at a time. They publish commands of the dVRK and show the target that the arm follows.

    Targets of a paused robot move the arm at once.

    Args:
        base: node of the scene that is the base of the arm.

    Attributes:
        choice, mode, law: dropdowns. joints, efforts: sliders. compensated: box of gravity compensation.
        tip: target of the tip. push: the typed force. grip: handle of the hand.
    """

    def __init__(self, page: Page, robot: Robot, selection: Selection, base: str) -> None:
        gui, add = page.server.gui, page.add
        self._robot, self._simulation = robot, robot.simulation()
        self._lock = threading.RLock()  # guards the displayed and the commanded values
        self._acted = -np.inf  # real time of the last action [s]
        self._selection, self._simulated = selection, self._simulation.arm(selection.name)
        self._held = self._follows_efforts = False  # held: someone drags the hand
        hint = "the others hold their targets"
        self.choice = add("dropdown", "Arm", None, robot.arms, initial_value=selection.name, hint=hint)
        self.mode = add(
            "dropdown", "Mode", lambda _: self.set_mode(self.mode.value), tuple(FOLDERS), hint="what you command"
        )
        self.law = add("dropdown", "Control law", lambda _: self._simulated.set_law(self.law.value), tuple(LAWS))
        self._about = gui.add_markdown("")
        self._gains_folder = gui.add_folder("Gains", expand_by_default=False)
        self._gains = Sliders(page, self._gains_folder, self._on_gains)
        self._folders = {mode: gui.add_folder(title, visible=False) for mode, title in FOLDERS.items()}
        self.joints = Sliders(page, self._folders["joint"], self._on_joints)
        with self._folders["torque"]:
            self.compensated = add("checkbox", "Gravity compensation", lambda _: self._on_compensated(), True)
            add("button", "Zero", lambda _: self._zero_efforts(), icon=viser.Icon.EQUAL)
        self.efforts = Sliders(page, self._folders["torque"], self._on_efforts)
        with self._folders["cartesian"]:
            self.tip = TipTarget(page, base, self.move_tip, self._lock)
        with gui.add_folder("Push the tip", expand_by_default=False):
            self._hand = add("checkbox", "Hand", None, False, hint="a handle that pulls at the tip like a spring")
            gui.add_markdown("Force in base axes:")
            self.push = Entry(page, ["x [N]", "y [N]", "z [N]"], 0.1, "Push", viser.Icon.HAND_FINGER, self._on_force)
            add("button", "Let go", lambda _: self.let_go(), icon=viser.Icon.HAND_OFF)
        self.grip: Any = page.server.scene.add_transform_controls(
            f"{base}/hand", scale=0.7 * HANDLE, disable_rotations=True, depth_test=False, visible=False
        )
        self.grip.on_update(page.on(self._on_grip))
        self._show_arm(selection)

    # -- following the arm ---------------------------------------------------------------------------------------------

    def refresh(self, selection: Selection) -> None:
        """Show the state of the arm; called whenever it is drawn."""
        if not selection.frame.live:
            self.tip.handle.visible = self.grip.visible = False
            return
        before = self._selection
        if selection.name != before.name:
            self._simulated.push(np.zeros(3))
            self._show_arm(selection)
        elif selection.about is not before.about:
            self._mechanism = selection.about.mechanism()
            self.joints.limit(map(inside, selection.about.arm.joints))
        self._selection, state = selection, selection.state
        with self._lock:
            if (state.law, dict(state.gains)) != self._law:
                self._show_law(state)
            follows, settled = _follows_efforts(state), time.monotonic() - self._acted > FOLLOW_DELAY
            # changed, perhaps by another window; or left before it was drawn, by a drag that was on its way
            left = settled and self._robot.playing and (self.mode.value == "torque") is not follows
            if follows is not self._follows_efforts or left:
                self._follows_efforts, self._target = follows, np.zeros(0)
                self._show_mode("torque" if follows else "joint" if self.mode.value == "torque" else "")
            if settled:
                self._show_target(state)
        self.tip.handle.visible = self.mode.value != "torque"  # in joint mode too: the tip can be dragged at once
        self.grip.visible = bool(self._hand.value)
        if self._held:
            force = SPRING * (np.array(self.grip.position) - state.T_tip[:3, 3])
            self._simulated.push(force * min(1.0, MAX_PULL / max(float(np.linalg.norm(force)), 1e-9)))
        elif self._hand.value:
            self.grip.position = state.T_tip[:3, 3]

    def _show_arm(self, selection: Selection) -> None:
        """Make the controls of an arm."""
        arm, state = selection.about.arm, selection.state
        self._selection, self._mechanism = selection, selection.about.mechanism()
        self._simulated = self._simulation.arm(selection.name)
        self._law: tuple[str | None, dict[str, float]] = None, {}
        self._follows_efforts, self._target = _follows_efforts(state), np.zeros(0)
        self.choice.value, self.choice.visible = selection.name, len(self._robot.arms) > 1
        self.joints.make((j.name, j.unit, inside(j), STEPS[j.unit], inside(j)[0]) for j in arm.joints)
        self.efforts.make((j.name, j.effort_unit, (-j.effort, j.effort), j.effort / 500, 0.0) for j in arm.joints)
        self.tip.orients(arm.tip_joints >= 6)
        self._hand.value = self._held = False
        self.push.show(np.zeros(3))
        self._show_mode("torque" if self._follows_efforts else "joint")
        self._show_law(state)
        self._show_target(state)

    def _show_mode(self, mode: str) -> None:
        if mode:
            self.mode.value = mode
        for name, folder in self._folders.items():
            folder.visible = name == self.mode.value

    def _show_law(self, state: ArmFrame) -> None:
        if state.law is None:
            return
        law, gains = LAWS[state.law], dict(state.gains)
        before, self._law = self._law[0], (state.law, gains)
        self._about.content, self._gains_folder.visible = law.about, bool(law.gains)
        if before != state.law:
            self._gains.make(
                (key, gain.unit, (gain.minimum, gain.maximum), (gain.maximum - gain.minimum) / 200, gains[key])
                for key, gain in law.gains.items()
            )
        elif time.monotonic() - self._acted > FOLLOW_DELAY:
            self._gains.show(list(gains.values()))
        self.law.value = state.law

    def _show_target(self, state: ArmFrame) -> None:
        """Show the target that the arm follows, if it is another one than the controls show."""
        target = state.q if state.target is None else state.target
        if len(target) == len(self._target) and np.abs(target - self._target).max() < SAME:
            return
        if self._follows_efforts:
            self.efforts.show(target)
        else:
            self.joints.show(np.round(target, 4))
            self.tip.show(self._mechanism.forward_kinematics(target))
        self._target = np.array(target)

    # -- actions of the user -------------------------------------------------------------------------------------------
    # viser calls from many threads: values are read and sent under one lock, so the last ones sent are the newest

    def set_mode(self, mode: str) -> None:
        """Command joints, the tip or efforts; the arm holds its position meanwhile."""
        with self._lock:
            self._acted = time.monotonic()
            self._show_mode(mode)
            if mode == "torque":
                self.compensated.value = True
                self._publish("use_gravity_compensation", Bool(value=True))
                self._zero_efforts()
            elif self._follows_efforts:
                self._publish("hold", Empty())

    def move_joints(self, q: Array) -> None:
        """Move the arm to joint positions (n,) [rad, m]."""
        self._act(q)
        if self._robot.playing:
            self._publish_joints("move_jp", "position", q)
        else:
            self._simulated.place(q)

    def move_tip(self, T: Array) -> None:
        """Move the tip to a pose (4, 4) in the base."""
        with self._lock:
            self._act(np.zeros(0))
            state = self._now()
            seed = state.q if state.q_ref is None or state.target is None else state.target
            command = self.tip.command(self._robot, self._selection, T, seed)
            if isinstance(command, np.ndarray):
                self.move_joints(command)
            else:
                self._publish("move_cp", command)

    def _on_joints(self) -> None:
        with self._lock:
            self.move_joints(self.joints.values)

    def _on_efforts(self) -> None:
        with self._lock:
            self._act(self.efforts.values)
            self._publish_joints("servo_jf", "effort", self._target)

    def _on_compensated(self) -> None:
        """Switch gravity compensation; the arm stays at rest, because its efforts take over what holds it."""
        with self._lock:
            on = bool(self.compensated.value)
            holding = self._mechanism.gravity(self._now().q)
            self.efforts.show(self.efforts.values + (-holding if on else holding))
            self._publish("use_gravity_compensation", Bool(value=on))
            self._on_efforts()

    def _zero_efforts(self) -> None:
        self.efforts.show(np.zeros(len(self.efforts.handles)))
        self._on_efforts()

    def _on_gains(self) -> None:
        with self._lock:
            self._acted = time.monotonic()
            gains = dict(zip(self._gains.handles, self._gains.values.tolist(), strict=True))
            self._simulated.set_law(self.law.value, gains)

    def _on_grip(self, event: viser.TransformControlsEvent) -> None:
        self._held = event.phase != "end"
        if not self._held:
            self.let_go()

    def _on_force(self) -> None:
        with self._lock:
            force = self.push.values
            self.push.show(force)  # before it acts: numbers typed once the arm is pushed are the next force
            try:
                self._simulated.push(force)
            except Exception:
                self.push.show(self._now().force)
                raise

    def let_go(self) -> None:
        """End the push."""
        self._held = False
        self.push.show(np.zeros(3))
        self._simulated.push(np.zeros(3))

    def _now(self) -> ArmFrame:
        name = self._selection.name
        return self._simulation.frame((name,)).arms[name]

    def _act(self, target: Array) -> None:
        """Remember that the user commands a target: the controls show it until the arm has it, or has refused it."""
        self._acted, self._target = time.monotonic(), np.array(target)

    def _publish(self, topic: str, message: Any) -> None:
        self._robot.bus.publish(f"{self._selection.name}/{topic}", message)

    def _publish_joints(self, topic: str, field: str, values: Array) -> None:
        """Publish values (n,) of all joints, those of a jaw on its own topic."""
        m = self._selection.about.arm.tip_joints
        for name, part in {topic: values[:m], f"jaw/{topic}": values[m:]}.items():
            if f"{self._selection.name}/{name}" in self._robot.bus.topics:
                message: dict[str, Any] = {field: part}
                self._publish(name, JointState(**message))


class DrivePanel(RobotPanel, tab=("Drive", viser.Icon.DEVICE_GAMEPAD_2), interval=0.0):
    """Controls of the selected arm. Attributes: controls: see `ArmControls`."""

    def build(self, page: Page) -> None:
        self.controls = ArmControls(page, self.robot, page.selection, BASE)
        self.controls.choice.on_update(page.on(lambda _: page.select(self.controls.choice.value)))

    def refresh(self, selection: Selection) -> None:
        self.controls.refresh(selection)


class SecondArmPanel(RobotPanel, tab=DrivePanel.tab, interval=0.0):
    """Controls, handles and push of another arm than the selected one; bars, curves and marks show the selected one.

    Attributes: name: of the arm. controls: see `ArmControls`.
    """

    base: ClassVar[str] = "/second_base"  # node of the scene that is the base of this arm

    def build(self, page: Page) -> None:
        self._first, self.name = page.selected, self.robot.arms[1]
        self._base = page.server.scene.add_frame(self.base, show_axes=False)
        self._push = arrows(page.server.scene, f"{self.base}/push", "push")
        with page.server.gui.add_folder("Second arm", expand_by_default=False):
            self.controls = ArmControls(page, self.robot, Selection(page.selection.frame, self.name), self.base)
        self.controls.choice.on_update(page.on(lambda _: self._select(self.controls.choice.value)))

    def _select(self, name: str) -> None:
        """Drive another arm. If it is the selected arm, the two are swapped."""
        if name == self.page.selected:
            self.page.select(self.name)
        else:
            self.name = name

    def arms(self, selected: str) -> Collection[str]:
        return (selected, self.name, self._first)

    def refresh(self, selection: Selection) -> None:
        """Follow the robot. While a recording is shown there is no second arm."""
        if not selection.frame.live:
            self._push.visible = False
            self.controls.refresh(selection)
            return
        if selection.name == self.name:  # it was selected: drive the one that was selected before
            self.name = self._first
        self._first = selection.name
        second = Selection(selection.frame, self.name)
        if second.name not in selection.frame.arms:  # chosen while the frame was read
            return
        self.controls.refresh(second)
        T = second.about.T_world_base
        self._base.position, self._base.wxyz = T[:3, 3], quaternion(T[:3, :3])
        aim(self._push, np.array([[second.state.T_tip[:3, 3], second.state.force]]), True)


def _follows_efforts(state: ArmFrame) -> bool:
    return state.q_ref is None and state.target is not None
