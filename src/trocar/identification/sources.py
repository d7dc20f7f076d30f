"""A recording of an arm from any file it may come in."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trocar.identification.recipe import Recipe, joint_from_columns, load_recipe
from trocar.recording import Recording
from trocar.recording.sources import open_recording


def load_recording(
    path: str | Path,
    arm: str = "PSM",
    *,
    rate: float | None = None,
    namespace: str | None = None,
    recipe: Recipe | None = None,
) -> Recording:
    """npz, csv with header, a table without (columns and rate of the recipe), or a ROS bag.

    Args:
        rate: of a table without header [Hz]; None for the recipe's. namespace: of the arm in a bag.
        recipe: None for the arm's own.
    """
    recipe = recipe or load_recipe(arm)
    robot = recipe.arm
    units = [joint.unit for joint in robot.joints]
    # A motor moves metres exactly if the joint it drives alone does.
    T = joint_from_columns(robot, recipe.columns)
    column_units = [units[int(np.flatnonzero(T[:, j])[0])] for j in range(robot.n)]
    return open_recording(
        path,
        joints=robot.joint_names,
        units=units,
        columns=recipe.columns,
        column_units=column_units,
        rate=recipe.rate if rate is None else rate,
        namespace=namespace,
    )
