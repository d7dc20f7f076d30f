"""Motions for the identification of a wrist: joints or poses, from npz, csv, a folder or a bag."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from trocar.errors import TrocarError
from trocar.files import memory, read_whole
from trocar.identification.wrist import pose_files
from trocar.identification.wrist.joint_pairs import JOINTS, JointPairs, joint_titles
from trocar.identification.wrist.pose_pairs import PosePairs, pairs_of
from trocar.mechanics import Mechanism
from trocar.recording.bag_file import is_bag
from trocar.recording.bag_poses import JointsAndPoses, read_joints_and_poses
from trocar.recording.formats import CsvTable, npz_arrays
from trocar.spatial import Array

# A rest: no joint moves by more than this within a window; it lasts longer than the wrist needs to settle.
STILL = np.array([1e-3, 1e-3, 1e-4, 2e-3, 2e-3, 2e-3])  # [rad, m]
WINDOW, SETTLED, MIN_REST = 0.1, 0.2, 0.4  # [s]


def load_motion(
    path: Path, mechanism: Mechanism, namespace: str | None = None, topic: str | None = None
) -> JointPairs | PosePairs:
    """A motion with seen joints (see `JointPairs.load`) or seen poses (see `pose_files`), by what the file holds.

    Args:
        namespace, topic: arm and marker poses in a bag (see `read_joints_and_poses`).
    """
    if is_bag(path):
        return _of_bag(path, mechanism, read_joints_and_poses(path, mechanism.arm, JOINTS, namespace, topic))
    if path.suffix == ".npz" and path.is_file():
        try:
            entries = npz_arrays(read_whole(path, "file of arrays", memory() // 4))
        except (zipfile.BadZipFile, zlib.error, LookupError, ValueError, TypeError, EOFError) as error:
            raise TrocarError(f"{path} is not a file of arrays: {error}") from None
        if "seen" not in entries:
            return pose_files.from_arrays(entries, path, mechanism)
    if path.suffix == ".csv" and path.is_file():
        file = CsvTable(path, pose_files.EXAMPLE)
        if not any(title in file.titles for title in joint_titles("seen")):
            return pose_files.from_csv(file, path, mechanism)
    return JointPairs.load(path)


def _of_bag(path: Path, mechanism: Mechanism, bag: JointsAndPoses) -> PosePairs:
    """Pose pairs with one row for every rest of the arm: the median of its joints and of the poses seen meanwhile."""
    rests = still_intervals(bag.t_q, bag.q)
    command, poses = np.empty((len(rests), len(JOINTS))), np.full((len(rests), 7), np.nan)
    for k, (begin, end) in enumerate(rests):
        command[k] = np.median(bag.q[(bag.t_q >= begin) & (bag.t_q <= end)], axis=0)
        during = bag.poses[(bag.t_pose >= begin + SETTLED) & (bag.t_pose <= end)]
        during = during[np.isfinite(during).all(1) & (np.linalg.norm(during[:, 3:], axis=1) > 0.5)]
        if len(during):
            poses[k, :3] = np.median(during[:, :3], axis=0)
            poses[k, 3:] = Rotation.from_quat(during[:, 3:]).mean().as_quat()
    if not rests:
        raise TrocarError(f"{path}: the arm does not rest for {MIN_REST} s anywhere; stop at every pose")
    R = np.full((len(rests), 3, 3), np.nan)
    known = np.isfinite(poses).all(1)
    R[known] = Rotation.from_quat(poses[known, 3:]).as_matrix()
    notes = (f"{path.name}: {len(rests)} rests of {bag.topics[0]}, poses of {bag.topics[1]}",)
    return pairs_of(path.stem, command, poses[:, :3], {"xyzw": R}, None, mechanism, notes)


def still_intervals(t: Array, q: Array) -> list[tuple[float, float]]:
    """Begin and end [s] of every rest in joint positions q (N, 6) at times t (N,)."""
    first = np.searchsorted(t, t - WINDOW)
    still = np.array([(np.ptp(q[a : k + 1], axis=0) <= STILL).all() for k, a in enumerate(first)]) & (
        t - t[0] >= WINDOW
    )
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(int)))
    spans = [(float(t[a]), float(t[b - 1])) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return [(begin, end) for begin, end in spans if end - begin >= MIN_REST]
