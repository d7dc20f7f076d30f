"""Completing recordings of others: joints from tip poses, and efforts from the identified model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from trocar.arms import load_arm
from trocar.arms.parameters import Parameters
from trocar.errors import TrocarError, Unreachable
from trocar.mechanics import load_mechanism
from trocar.recording import Recording
from trocar.spatial import checked_pose, pose
from trocar_learning.episodes.arm_columns import TIP_JOINTS


def with_joints(recording: Recording, arm: str = "PSM", T_base_data: ArrayLike | None = None) -> Recording:
    """Joints of an arm from a recording of its tip, by inverse kinematics from row to row.

    Args:
        recording: of tip_x, tip_y, tip_z and jaw, with the channel tip_orientation.
        T_base_data: pose (4, 4) of the frame of the data in the base of the arm. Default: the base itself.
    """
    if recording.joints != TIP_JOINTS or "tip_orientation" not in recording.extra:
        raise TrocarError(f"the recording has the joints {', '.join(recording.joints)}, not the pose of a tip")
    facts = load_arm(arm)
    mechanism = load_mechanism(facts.name)
    T = np.eye(4) if T_base_data is None else checked_pose(T_base_data)
    turns = Rotation.from_quat(recording.extra["tip_orientation"]).as_matrix()
    q, seed = np.zeros((len(recording), facts.n)), np.array(facts.home, dtype=float)
    for k in range(len(recording)):
        seed[-1] = np.clip(recording.q[k, 3], facts.lower[-1], facts.upper[-1])
        try:
            seed = mechanism.inverse_kinematics(T @ pose(turns[k], recording.q[k, :3]), seed)
        except Unreachable as error:
            raise TrocarError(f"row {k}: {facts.name} cannot reach the pose; give T_base_data ({error})") from None
        q[k] = seed
    dq: Any = np.gradient(q, recording.t, axis=0) if len(q) > 1 else np.zeros_like(q)
    names: Any = {"joints": facts.joint_names, "joint_units": facts.joint_units}
    return replace(recording, q=q, dq=dq, **names, provenance={**recording.provenance, "arm": facts.name})


def with_effort(recording: Recording, parameters: str | Parameters | None = None) -> Recording:
    """The recording with efforts that the identified model predicts from its motion, if it has none.

    Accelerations are differences of velocities. The provenance names the model that predicted them.
    """
    if recording.tau is not None:
        return recording
    arm = recording.provenance.get("arm")
    if not isinstance(arm, str):
        raise TrocarError("efforts need the joints of a known arm; convert a recording of a tip with with_joints first")
    mechanism = load_mechanism(arm, parameters)
    recording.check_joints(mechanism.arm)
    ddq = np.gradient(recording.dq, recording.t, axis=0) if len(recording) > 1 else np.zeros_like(recording.dq)
    tau = mechanism.inverse_dynamics(recording.q, recording.dq, ddq, friction=True)
    assert mechanism.parameters is not None  # a set that the arm has by default
    provenance = {**recording.provenance, "effort": f"predicted by the parameters {mechanism.parameters.name}"}
    return replace(recording, tau=tau, provenance=provenance)
