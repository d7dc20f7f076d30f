"""Frames: an arm or a scene of arms at one moment, for pages and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from trocar.arms import Arm
from trocar.mechanics import Mechanism
from trocar.robot.description import ArmDescription, SceneDescription, contact_forces, pierced_forces
from trocar.robot.messages import ArmFrame, Frame
from trocar.robot.settings import ArmSettings
from trocar.simulation import Scene, SimulatedArm
from trocar.spatial import Array


def simulated_arm(arm: SimulatedArm, stepped: bool, **known: Any) -> ArmFrame:
    """An arm of a simulation; called in the thread that steps it.

    Args:
        stepped: it has been stepped since it was placed, so that it has accelerations and efforts.
        known: fields of `ArmFrame` that the simulation does not have, such as the setpoint, or has otherwise.
    """
    values: dict[str, Any] = {
        "q": arm.q,
        "dq": arm.dq,
        "T_tip": arm.tip_pose(),
        "rcm_error": arm.rcm_error() if arm.arm.has_rcm else None,
        "loop_error": arm.loop_error() if arm.arm.loops else None,
    }
    if stepped:
        effort = arm.contact_effort() if arm.data.ncon else np.zeros(arm.n)
        values |= {"ddq": arm.ddq, "tau": arm.tau, "contact_effort": effort}
    return ArmFrame(**{**values, **known})


def measured_arm(mechanism: Mechanism, q: Array, dq: Array, **known: Any) -> ArmFrame:
    """An arm that is known by its joints, q (n,) [rad, m] and dq (n,), and other fields of `ArmFrame`."""
    return ArmFrame(q=q, dq=dq, T_tip=mechanism.forward_kinematics(q), **known)


def frame_of(description: SceneDescription, arms: Mapping[str, ArmFrame], qpos: Array, **moment: Any) -> Frame:
    """A frame of some arms of a scene with all its joints `qpos`; `moment`: number, time and other fields."""
    return Frame(scene=description, arms=MappingProxyType(dict(arms)), qpos=qpos, **moment)


def scene_frame(scene: Scene, description: SceneDescription, arms: Mapping[str, ArmFrame], **moment: Any) -> Frame:
    """A frame of a simulated scene, with its contacts; called in the thread that steps it.

    Args:
        arms: the arms to show. moment: stamp, number, playing, speed and factor of `Frame`.
    """
    contacts = np.concatenate([contact_forces(scene.model, scene.data), pierced_forces(scene)])
    layers = np.array(scene.model.flex_elemlayer)
    qpos = np.array(scene.data.qpos)
    return frame_of(description, arms, qpos, time=scene.time, contacts=contacts, layers=layers, **moment)


class DescribedArm:
    """An arm that stands alone and is shown, not simulated.

    Attributes:
        settings: settings of the arm. scene: its description. mechanism: its equations, for the owning thread only.
    """

    def __init__(self, settings: ArmSettings) -> None:
        self.settings, self.scene = settings, SceneDescription.of(settings.build())
        self.mechanism = self.description.mechanism()

    @property
    def description(self) -> ArmDescription:
        return self.scene.arms[self.settings.name]

    @property
    def arm(self) -> Arm:
        return self.description.arm

    def framed(self, state: Mapping[str, Array | None], **moment: Any) -> Frame:
        """A frame of the arm; `state`: q, dq and, if measured, ddq and tau; `moment`: number, time, playing, speed."""
        values: dict[str, Any] = dict(state)
        if values.get("tau") is not None:
            values["tau"] = values["tau"] - self.mechanism.effort_bias
        arm = measured_arm(self.mechanism, **values)
        return frame_of(self.scene, {self.settings.name: arm}, self.arm.E @ arm.q, live=False, **moment)
