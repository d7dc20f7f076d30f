"""The motor side of elastic drives: coordinates that they add to an arm's model, where its encoders are.

A motor behind a spring, of `Compliance` or of wrist cables, is a body of its own. With relaxed springs its position
follows from the joints; in motion it differs, and the encoders read it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trocar.arms import Arm
from trocar.arms.wrist_cables import CABLE_JOINTS
from trocar.simulation.modelling.cable_model import MOTOR, extra_joints, relaxed_map
from trocar.simulation.scene_arm import SceneArm
from trocar.spatial import Array


@dataclass(frozen=True)
class MotorSide:
    """Coordinates of an arm's elastic drives.

    Attributes:
        joints: names of the k joints that follow those of the links in the model.
        relaxed: (k, n) map from q to their positions with relaxed springs.
        encoders: joint of `joints` that the encoder of an elastic joint reads, by the elastic joint.
        friction: elastic joints whose drives rub at the motor: the friction of the others is at the link.
    """

    joints: tuple[str, ...]
    relaxed: Array
    encoders: dict[str, str]
    friction: tuple[str, ...]

    @classmethod
    def of(cls, arm: Arm, options: SceneArm) -> MotorSide:
        """Those of an arm with these options; without elastic drives there are none."""
        cables = options.cables
        deflected = () if options.compliance is None else tuple(options.compliance.deflections)
        behind = () if cables is None else extra_joints(cables, options.friction)
        relaxed = np.zeros((0, arm.n)) if cables is None else relaxed_map(arm, cables, options.friction)
        wrist = () if cables is None else CABLE_JOINTS
        return cls(
            (*behind, *(MOTOR + name for name in deflected)),
            np.concatenate([relaxed, np.eye(arm.n)[[arm.joint_names.index(name) for name in deflected]]]),
            {name: MOTOR + name for name in (*wrist, *deflected)},
            wrist,
        )
