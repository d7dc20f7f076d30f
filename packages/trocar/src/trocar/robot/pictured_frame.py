"""The scene of frames as `appearance` draws it, in a thread of its own."""

from __future__ import annotations

import mujoco

from trocar.appearance.kinematic_model import hang
from trocar.mechanics.cart import Cart
from trocar.robot.description import SceneDescription
from trocar.robot.messages import Frame
from trocar.spatial import Array, pose


class PicturedFrame:
    """A scene that is moved to frames and drawn; see `PicturedScene`."""

    def __init__(self, scene: SceneDescription) -> None:
        self.spec, self.gravity = scene.spec, scene.arguments["gravity"]
        self.model = scene.spec.copy().compile()
        self.data = mujoco.MjData(self.model)
        self._hang(scene)

    def _hang(self, scene: SceneDescription) -> None:
        """Put bodies that only set-up joints move in place."""
        self._description, self.arms = scene, scene.arms
        self.cart: Cart | None = scene.arguments["cart"]
        hang(self.model, scene.fixed)

    def show(self, frame: Frame) -> None:
        """Move everything to a frame of the same model."""
        if self._description is not frame.scene:
            self._hang(frame.scene)
        self.data.qpos[:] = frame.qpos
        if frame.layers.size:
            self.model.flex_elemlayer[:] = frame.layers
        mujoco.mj_kinematics(self.model, self.data)

    def T_world_base(self, arm: str) -> Array:
        return self.arms[arm].T_world_base

    def T_world_tip(self, arm: str) -> Array:
        site = self.data.site(f"{self.arms[arm].prefix}tip")
        return pose(site.xmat.reshape(3, 3), site.xpos)

    def fixed_poses(self) -> dict[str, Array]:
        return dict(self._description.fixed)

    def lines(self) -> tuple[()]:
        """None: frames do not have the state of objects that are not in MuJoCo's model."""
        return ()
