"""Recordings from files, whoever wrote them, in the joints of their arm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from trocar.arms import ARMS, load_arm
from trocar.errors import TrocarError, UnknownName
from trocar.identification.recipe import joint_from_columns, load_recipe
from trocar.identification.sources import load_recording
from trocar.recording import Recording
from trocar.recording.bag_file import is_bag
from trocar.recording.table_file import is_table

SUFFIXES = (".csv", ".npz", ".bag", ".mcap", ".db3")


def load(path: Path, arm: str) -> Recording:
    """npz, csv with header, a table without one as published with a recipe of the arm, or a ROS bag.

    Columns of such tables may be motors; they are turned into joints.
    """
    if not path.exists():
        raise TrocarError(f"the recording {path} does not exist")
    if not (is_bag(path) or (path.suffix.lower() == ".csv" and is_table(path))):
        return Recording.load(path)
    if arm not in ARMS:
        raise UnknownName("arm", arm, ARMS)
    return in_joints(load_recording(path, arm), arm)


def in_joints(recording: Recording, arm: str) -> Recording:
    """The same motion in the joints of the arm, where its columns are motors."""
    recipe = load_recipe(arm)
    robot = load_arm(arm, recipe.template.geometry)
    if set(recording.joints) <= set(robot.joint_names):
        return recording
    T = joint_from_columns(robot, tuple(recording.joints))
    tau = recording.tau
    return replace(
        recording,
        q=recording.q @ T.T,
        dq=recording.dq @ T.T,
        ddq=None if recording.ddq is None else recording.ddq @ T.T,
        tau=None if tau is None else tau @ np.linalg.inv(T),
        joints=robot.joint_names,
        joint_units=["m" if joint.kind == "prismatic" else "rad" for joint in robot.joints],
        commands={},
    )
