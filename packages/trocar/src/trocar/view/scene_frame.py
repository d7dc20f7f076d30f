"""Frames of a scene that no `Robot` drives: of one's own controller, or of a policy on a task."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from trocar.robot.description import SceneDescription, contact_forces
from trocar.robot.messages import ArmFrame, Frame
from trocar.simulation import Scene
from trocar.spatial import Array


def scene_frame(
    scene: Scene, description: SceneDescription, *, stepped: bool, references: Mapping[str, Array], **options: Any
) -> Frame:
    """A frame of the current state; called in the thread that steps the scene.

    Args:
        stepped: the scene has been stepped, so that it has accelerations and efforts.
        references: joint setpoints (n,) by arm [rad, m]. options: number, playing, speed and factor of `Frame`.
    """
    states = {
        name: ArmFrame(
            q=np.array(arm.q),
            dq=np.array(arm.dq),
            T_tip=np.array(arm.tip_pose()),
            ddq=np.array(arm.ddq) if stepped else None,
            tau=np.array(arm.tau) if stepped else None,
            q_ref=references.get(name),
            contact_effort=np.array(arm.contact_effort()) if stepped and scene.data.ncon else None,
            rcm_error=float(arm.rcm_error()) if arm.arm.has_rcm else None,
            loop_error=float(arm.loop_error()) if arm.arm.loops else None,
        )
        for name, arm in scene.arms.items()
    }
    return Frame(
        time=scene.time,
        arms=MappingProxyType(states),
        qpos=np.array(scene.data.qpos),
        scene=description,
        contacts=contact_forces(scene.model, scene.data),
        **options,
    )
