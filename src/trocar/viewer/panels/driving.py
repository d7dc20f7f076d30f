"""Mode, controller, gains and targets; and the hand that pushes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import viser

from trocar.arms import Joint
from trocar.spatial import Array, pose
from trocar.viewer.driving import CONTROLLERS, Mode, choices, tip_task
from trocar.viewer.frame import Frame
from trocar.viewer.overlays import BASE
from trocar.viewer.plant import Plant
from trocar.viewer.session import Session

SPRING = 50.0  # of the hand that pulls at the tip [N/m]
MOST_FORCE = 10.0  # [N]


class DrivingPanel:
    """Joint sliders, effort sliders, the target of the tip, and a push."""

    def __init__(self, server: viser.ViserServer, session: Session, plant: Plant) -> None:
        self._gui, self._session, self._plant = server.gui, session, plant
        gui = server.gui
        driver = session.frame.driver
        assert driver is not None
        # only a scene has a choice
        self._arm: Any = gui.add_dropdown(
            "Arm", tuple(session.arms), initial_value=plant.name, visible=len(session.arms) > 1, hint="the others hold"
        )
        self._mode: Any = gui.add_dropdown("Mode", [m.value for m in Mode], initial_value=driver.mode.value)
        self._controller: Any = gui.add_dropdown("Controller", choices(driver.mode), initial_value=driver.controller)
        self._about = gui.add_markdown(CONTROLLERS[driver.controller].about)
        self._gains_folder = gui.add_folder("Gains", expand_by_default=False)
        self._gains: dict[str, Any] = {}
        self._joints_folder = gui.add_folder("Joint targets")
        self._efforts_folder = gui.add_folder("Efforts", visible=False)
        with self._efforts_folder:
            zero = gui.add_button("Zero", icon=viser.Icon.EQUAL)
        self._joints: list[Any] = []
        self._efforts: list[Any] = []
        self._add_sliders()
        self._tip_folder = gui.add_folder("Tip target", visible=False)
        with self._tip_folder:
            gui.add_markdown("Drag the handle at the tip, or say where it shall go:")
            # in metres, or with decimals, they do not fit into the fields
            tip = _millimetres(session.frame.T_tip)
            self._place: Any = gui.add_vector3("Tip [mm]", tip, step=1.0, hint="in base axes")
        with gui.add_folder("Push the tip", expand_by_default=False):
            self._hand: Any = gui.add_checkbox("Hand", False, hint="a handle that pulls at the tip like a spring")
            self._force: Any = gui.add_vector3(
                "Force [N]", (0.0, 0.0, 0.0), min=(-10,) * 3, max=(10,) * 3, step=0.1, hint="in base axes"
            )
            release = gui.add_button("Let go", icon=viser.Icon.HAND_OFF)
        scale = 0.12
        self._target = server.scene.add_transform_controls(
            f"{BASE}/target",
            scale=scale,
            disable_rotations=tip_task(plant.mechanism) < 6,
            depth_test=False,
            visible=False,
        )
        self._grip = server.scene.add_transform_controls(
            f"{BASE}/hand", scale=0.7 * scale, disable_rotations=True, depth_test=False, visible=False
        )
        self._held = False  # whether someone drags the hand

        self._arm.on_update(self._on_arm)
        self._mode.on_update(self._on_mode)
        self._controller.on_update(self._on_controller)
        self._place.on_update(self._on_place)
        self._force.on_update(self._on_force)
        zero.on_click(lambda _: self._set_efforts(np.zeros(self._plant.arm.n)))
        release.on_click(lambda _: self._let_go())
        self._target.on_update(self._on_target)
        self._grip.on_update(self._on_grip)
        self._add_gains()

    def rebuild(self, frame: Frame) -> None:
        """Another plant: another arm of the scene, or the same with other limits."""
        another, self._plant = frame.plant.name != self._plant.name, frame.plant
        if not another:
            for slider, joint in zip(self._joints, self._plant.arm.joints, strict=True):
                slider.min, slider.max = _inside(joint)
            return
        assert frame.driver is not None
        self._arm.value = self._plant.name
        self._add_sliders()
        self._target.disable_rotations = tip_task(self._plant.mechanism) < 6
        self._show_controller(frame.driver.controller)
        self._add_gains(frame.driver.gains)
        self._hand.value = self._held = False
        self._force.value = (0.0, 0.0, 0.0)
        q = frame.q if frame.q_ref is None else frame.q_ref
        for slider, value in zip(self._joints, q, strict=True):
            slider.value = float(np.clip(value, slider.min, slider.max))
        self._place_target(frame.T_tip if frame.T_ref is None else frame.T_ref)

    def reset(self, frame: Frame) -> None:
        """Targets where the arm is, as after a reset or a change of mode."""
        for slider, value in zip(self._joints, frame.q, strict=True):
            slider.value = float(np.clip(value, slider.min, slider.max))
        self._set_efforts(np.zeros(frame.plant.arm.n))
        self._place_target(frame.T_tip)

    def refresh(self, frame: Frame) -> None:
        """Handles where they belong; called as often as the arm is drawn."""
        cartesian = frame.driver is not None and frame.driver.mode is Mode.cartesian
        if self._target.visible != cartesian:
            self._target.visible = cartesian
        hand = self._hand.value and frame.driver is not None
        if self._grip.visible != hand:
            self._grip.visible = hand
        if hand and not self._held:
            self._grip.position = frame.T_tip[:3, 3]
        elif self._held:
            self._pull(frame)

    # -- what the user does ------------------------------------------------------------------------------------------

    def _on_arm(self, event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:  # chosen by hand, not by us
            self._session.choose(self._arm.value)

    def _on_mode(self, event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:
            self._drive(choices(Mode(self._mode.value))[0])

    def _on_controller(self, event: viser.GuiEvent[Any]) -> None:
        if event.client is not None and self._controller.value in CONTROLLERS:
            self._drive(self._controller.value)

    def _drive(self, controller: str) -> None:
        self._show_controller(controller)
        self._add_gains()
        self._session.drive(controller)
        self.reset(self._session.settled())

    def _show_controller(self, name: str) -> None:
        kind = CONTROLLERS[name]
        self._mode.value = kind.mode.value
        self._controller.options = tuple(choices(kind.mode))
        self._controller.value = name
        self._about.content = kind.about
        self._joints_folder.visible = kind.mode is Mode.joint
        self._efforts_folder.visible = kind.mode is Mode.torque
        self._tip_folder.visible = kind.mode is Mode.cartesian

    def _on_joint(self, event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:
            self._session.aim(np.array([slider.value for slider in self._joints]))

    def _on_effort(self, event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:
            self._session.aim(np.array([slider.value for slider in self._efforts]))

    def _set_efforts(self, tau: Array) -> None:
        for slider, value in zip(self._efforts, tau, strict=True):
            slider.value = float(value)
        if self._mode.value == Mode.torque:
            self._session.aim(tau)

    def _on_place(self, event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:
            T = self._session.frame.T_tip
            # of a target that was dragged only the number that was typed is a whole one
            was, typed = np.array(self._target.position), np.array(self._place.value)
            position = np.where(typed == np.round(1000 * was), was, typed / 1000)
            self._target.position = position
            self._session.aim(pose(R=T[:3, :3], p=position))

    def _on_target(self, event: viser.TransformControlsEvent) -> None:
        T = pose(R=viser.transforms.SO3(np.array(self._target.wxyz)).as_matrix(), p=np.array(self._target.position))
        self._place.value = _millimetres(T)
        self._session.aim(T)

    def _on_grip(self, event: viser.TransformControlsEvent) -> None:
        self._held = event.phase != "end"
        if not self._held:
            self._let_go()

    def _pull(self, frame: Frame) -> None:
        force = SPRING * (np.array(self._grip.position) - frame.T_tip[:3, 3])
        force *= min(1.0, MOST_FORCE / max(float(np.linalg.norm(force)), 1e-9))
        self._session.push(force)

    def _on_force(self, event: viser.GuiEvent[Any]) -> None:
        if event.client is not None:
            self._session.push(np.array(self._force.value))

    def _let_go(self) -> None:
        self._held = False
        self._force.value = (0.0, 0.0, 0.0)
        self._session.push(np.zeros(3))

    # -- controls that depend on the arm or the controller -----------------------------------------------------------

    def _place_target(self, T: Array) -> None:
        self._target.position = T[:3, 3]
        self._target.wxyz = viser.transforms.SO3.from_matrix(T[:3, :3]).wxyz
        self._place.value = _millimetres(T)

    def _add_sliders(self) -> None:
        for slider in (*self._joints, *self._efforts):
            slider.remove()
        plant = self._plant
        with self._joints_folder:
            self._joints = [self._joint_slider(plant, j) for j in range(plant.arm.n)]
        with self._efforts_folder:
            self._efforts = [self._effort_slider(plant, j) for j in range(plant.arm.n)]
        for slider in self._joints:
            slider.on_update(self._on_joint)
        for slider in self._efforts:
            slider.on_update(self._on_effort)

    def _joint_slider(self, plant: Plant, j: int) -> Any:
        joint = plant.arm.joints[j]
        unit, step = ("rad", 0.001) if joint.kind == "revolute" else ("m", 0.0001)
        low, high = _inside(joint)
        start = float(np.clip(plant.sim.q[j], low, high))
        return self._gui.add_slider(f"{joint.name} [{unit}]", low, high, step, start)

    def _effort_slider(self, plant: Plant, j: int) -> Any:
        joint = plant.arm.joints[j]
        unit = joint.effort_unit
        return self._gui.add_slider(f"{joint.name} [{unit}]", -joint.effort, joint.effort, joint.effort / 500, 0.0)

    def _add_gains(self, gains: Mapping[str, float] | None = None) -> None:
        for handle in self._gains.values():
            handle.remove()
        kind = CONTROLLERS[self._controller.value]
        with self._gains_folder:
            self._gains = {
                name: self._gui.add_slider(
                    f"{name} [{gain.unit}]" if gain.unit else name,
                    gain.least,
                    gain.most,
                    (gain.most - gain.least) / 200,
                    (gains or {}).get(name, gain.usual),
                )
                for name, gain in kind.gains.items()
            }
        for handle in self._gains.values():
            handle.on_update(lambda _: self._session.retune({n: h.value for n, h in self._gains.items()}))
        self._gains_folder.visible = bool(kind.gains)


def _inside(joint: Joint) -> tuple[float, float]:
    """Limits of a joint as short numbers, on the inner side of the exact ones."""
    return float(np.ceil(joint.lower * 1000) / 1000), float(np.floor(joint.upper * 1000) / 1000)


def _millimetres(T: Array) -> tuple[float, float, float]:
    """Position of a pose, in whole [mm]."""
    x, y, z = (float(np.round(1000 * value)) for value in T[:3, 3])
    return x, y, z
