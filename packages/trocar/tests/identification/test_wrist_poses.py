"""Identification of wrist cables from seen marker poses: transforms and parameters come back; files are read alike."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import Writer
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation
from test_wrist import MECHANISM, TRUTH, rehearsal
from typer.testing import CliRunner

from trocar.cli import application
from trocar.errors import TrocarError
from trocar.identification.wrist import PosePairs, identify_wrist_from_poses, load_motion, pose_score
from trocar.identification.wrist.motion_files import still_intervals
from trocar.identification.wrist.pose_fit import pose_rows
from trocar.identification.wrist.pose_identification import joints_seen
from trocar.identification.wrist.pose_pairs import tip_poses
from trocar.mechanics import CableWrist
from trocar.spatial import pose, pose_error

POSITION_NOISE, ROTATION_NOISE = 2e-4, 5e-3  # [m, rad] per coordinate
OFFSETS = np.array([2e-3, -1e-3, 5e-4, 0.1, -0.1, 0.2])  # [rad, m] of the encoders
T_TRACKER_BASE = pose(Rotation.from_rotvec([1.0, -2.0, 0.5]).as_matrix(), [0.3, -0.4, 1.2])
T_TIP_MARKER = pose(Rotation.from_rotvec([-0.4, 0.3, 2.0]).as_matrix(), [0.01, -0.02, 0.005])
MOTION = rehearsal(3, 400)


def seen_by_a_tracker(command: np.ndarray, seed: int, outliers: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Poses (N, 4, 4) of a marker on the true wrist, with noise, and mask (N,) of rows that are far off."""
    random, rows = np.random.default_rng(seed), len(command)
    q = command + OFFSETS
    q[:, 3:] += CableWrist(TRUTH).rest(command[:, 3:]).q - command[:, 3:]
    noise = random.normal(size=(rows, 6)) * np.repeat([POSITION_NOISE, ROTATION_NOISE], 3)
    far = random.random(rows) < outliers
    noise[far] += random.normal(size=(far.sum(), 6)) * np.repeat([0.1, 1.0], 3)
    error = pose(Rotation.from_rotvec(noise[:, 3:]).as_matrix(), noise[:, :3])
    return T_TRACKER_BASE @ tip_poses(MECHANISM, q) @ T_TIP_MARKER @ error, far


def test_poses_with_outliers_recover_transforms_and_cables() -> None:
    seen, far = seen_by_a_tracker(MOTION.command, 3, outliers=0.05)
    wrist = identify_wrist_from_poses(
        [PosePairs(name="poses", command=MOTION.command, seen=seen)], MECHANISM, "mine", "test", folds=2
    )
    sigma = np.sqrt(np.diag(wrist.cables.covariance))
    known = sigma > 1e-12
    z = (wrist.cables.numbers - TRUTH.numbers)[known] / sigma[known]
    assert np.sqrt(np.mean(z**2)) < 2.0
    assert wrist.fit.outliers == pytest.approx(far[5:].sum(), abs=1)
    assert wrist.fit.noise == pytest.approx([POSITION_NOISE, ROTATION_NOISE], rel=0.15)
    assert np.linalg.norm(pose_error(T_TRACKER_BASE, wrist.fit.transforms.T_tracker_base)[:3]) < 1e-3
    # The offset of wrist yaw cannot be told from a turn of the marker about this axis.
    zero, turned = np.zeros(6), np.array([0, 0, 0, 0, 0, OFFSETS[5] - wrist.fit.x[19]])
    turn = np.linalg.inv(tip_poses(MECHANISM, zero)) @ tip_poses(MECHANISM, turned)
    off = pose_error(turn @ T_TIP_MARKER, wrist.fit.transforms.T_tip_marker)
    assert np.linalg.norm(off[:3]) < 1e-3
    assert np.linalg.norm(off[3:]) < 0.02
    for (motion, used), fit in wrist.folds:  # held out: within the noise, where the tracker is right
        judged = pose_score(pose_rows(motion, used & ~far), fit, MECHANISM)
        assert judged.marker < 2.0 * POSITION_NOISE * np.sqrt(8.0 / np.pi)  # mean distance of normal noise
        assert judged.angle < 1.5 * ROTATION_NOISE * np.sqrt(8.0 / np.pi)
        assert judged.raw_tip > 3.0 * judged.tip


def test_seen_joints_reproduce_the_seen_poses() -> None:
    seen, _ = seen_by_a_tracker(MOTION.command, 4)
    motion = PosePairs(name="poses", command=MOTION.command, seen=seen)
    fit = identify_wrist_from_poses([motion], MECHANISM, "mine", "test", folds=0).fit
    joints = joints_seen(motion, fit, MECHANISM)
    assert np.abs(joints.seen - fit.joints(motion.command)).max() > 1e-3
    off = pose_error(seen, fit.transforms.marker(tip_poses(MECHANISM, joints.seen)))[5:]
    assert np.abs(off[(np.abs(off) < 1e-6).all(1)]).size > 0.95 * off.size


def columns(titles: str, *values: np.ndarray) -> str:
    rows = np.column_stack(values)
    rows = [",".join("" if np.isnan(x) else repr(x) for x in row) for row in rows.tolist()]
    return "\n".join([titles, *rows])


def written(folder: Path, seen: np.ndarray) -> dict[str, tuple[Path, str]]:
    """The same motion in several forms, with a note that its reading must state."""
    command, p, R = MOTION.command[: len(seen)], seen[:, :3, 3], Rotation.from_matrix(seen[:, :3, :3])
    xyzw = R.as_quat()
    wxyz = xyzw[:, [3, 0, 1, 2]]
    joints = ",".join(f"measured_q{k}" for k in range(1, 7))
    setpoint = ",".join(f"setpoint_q{k}" for k in range(1, 7))
    own = ",".join(f"measured_{axis}" for axis in ("x", "y", "z", "rx", "ry", "rz"))
    paths = {name: folder / name for name in ("a.npz", "b.npz", "c.npz", "d.npz", "e.csv", "f.csv", "g.csv")}
    np.savez(paths["a.npz"], command=command, seen_pose=seen)
    np.savez(paths["b.npz"], command=command, seen_pose=np.column_stack([1e3 * p, xyzw]))
    np.savez(paths["c.npz"], measured_jp=command, position=p, quaternion=wxyz)
    np.savez(paths["d.npz"], command=command, seen_pose=np.moveaxis(seen, 0, -1))
    index = np.arange(len(p), dtype=float)
    marker = "traj_index,marker_x,marker_y,marker_z,marker_rx,marker_ry,marker_rz,marker_reg_error"
    titles = f"{marker},{joints},{own},{setpoint}"
    values = (index, p, R.as_rotvec(), index, command, np.zeros((len(p), 6)), command + 1.0)
    paths["e.csv"].write_text(columns(titles, *values))
    names = "q_yaw [deg],q_pitch [deg],q_insertion [mm],q_roll [deg],q_wrist_pitch [deg],q_wrist_yaw [deg]"
    degrees = np.rad2deg(command) * [1, 1, 0, 1, 1, 1] + 1e3 * command * [0, 0, 1, 0, 0, 0]
    position = "pose.position.x [mm],pose.position.y [mm],pose.position.z [mm]"
    turn = "pose.orientation.x,pose.orientation.y,pose.orientation.z,pose.orientation.w"
    paths["f.csv"].write_text(columns(f"{names},{position},{turn}", degrees, 1e3 * p, xyzw))
    entries = ",".join(f"r{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3))
    matrix = np.round(seen[:, :3, :3].reshape(-1, 9), 5)
    paths["g.csv"].write_text(columns(f"q1,q2,q3,q4,q5,q6,x,y,z,{entries}", command, p, matrix))
    notes = {
        "a.npz": "positions are taken as m",
        "b.npz": "taken as xyzw",
        "c.npz": "taken as wxyz",
        "d.npz": "positions are taken as m",
        "e.csv": "orientation rx ry rz",
        "f.csv": "pose",
        "g.csv": "R11",
    }
    return {name: (path, notes[name]) for name, path in paths.items()}


def test_files_of_poses_read_alike_and_say_how(tmp_path: Path) -> None:
    seen = seen_by_a_tracker(MOTION.command[:120], 5)[0]
    for name, (path, note) in written(tmp_path, seen).items():
        read = load_motion(path, MECHANISM)
        assert isinstance(read, PosePairs)
        assert read.command == pytest.approx(MOTION.command[:120], abs=1e-12), name
        assert read.seen == pytest.approx(seen, abs=1e-9 if name != "g.csv" else 2e-5), name
        assert any(note in text for text in read.notes), (name, read.notes)


def test_rows_without_a_seen_marker_stay_in_the_history(tmp_path: Path) -> None:
    seen = seen_by_a_tracker(MOTION.command[:120], 5)[0]
    quaternion = Rotation.from_matrix(seen[:, :3, :3]).as_quat()
    quaternion[10] = 0.0
    position = seen[:, :3, 3].copy()
    position[20] = np.nan
    titles = ",".join([*(f"q{k}" for k in range(1, 7)), "x", "y", "z", "qx", "qy", "qz", "qw"])
    (tmp_path / "a.csv").write_text(columns(titles, MOTION.command[:120], position, quaternion))
    read = load_motion(tmp_path / "a.csv", MECHANISM)
    assert isinstance(read, PosePairs)
    assert np.flatnonzero(~read.visible).tolist() == [10, 20]
    assert any("not seen in 2 of 120 rows" in note for note in read.notes)


def test_unusable_files_of_poses_are_refused(tmp_path: Path) -> None:
    seen, command = seen_by_a_tracker(MOTION.command[:120], 5)[0], MOTION.command[:120]
    quaternion = Rotation.from_matrix(seen[:, :3, :3]).as_quat()
    for k, (entries, problem) in enumerate(
        (
            ({"command": command}, "no entry seen, nor poses"),
            ({"command": command[:, :5], "seen_pose": seen}, "must be rows of yaw"),
            ({"command": command, "seen_pose": seen[:100]}, "as many as"),
            ({"command": command, "position": seen[:, :3, 3]}, "no quaternion"),
            ({"command": command, "seen_pose": np.column_stack([seen[:, :3, 3], 2.0 * quaternion])}, "length 2"),
            ({"command": command, "seen_pose": seen * [[1, 1, 1, 30]]}, "neither m nor mm"),
        )
    ):
        np.savez(tmp_path / f"{k}.npz", **entries)
        with pytest.raises(TrocarError, match=problem):
            load_motion(tmp_path / f"{k}.npz", MECHANISM)
    other = PosePairs(name="of another motion", command=command, seen=seen[::-1])
    with pytest.raises(TrocarError, match="no hand-eye transform explains"):
        identify_wrist_from_poses([other], MECHANISM, "mine", "test", folds=0)
    (tmp_path / "a.csv").write_text("t,marker_x\n1,2\n")
    with pytest.raises(TrocarError, match="six joints"):
        load_motion(tmp_path / "a.csv", MECHANISM)


def test_the_command_fits_poses_and_writes_the_transforms(tmp_path: Path) -> None:
    seen = seen_by_a_tracker(MOTION.command[:200], 6)[0]
    np.savez(tmp_path / "one.npz", command=MOTION.command[:200], seen_pose=seen)
    names = [str(tmp_path / name) for name in ("one.npz", "mine.toml", "figures.json", "report")]
    arguments = ["identify-wrist", names[0], "--folds", "2", "-o", names[1], "--json", names[2], "--report", names[3]]
    result = CliRunner().invoke(application(), arguments)
    assert result.exit_code == 0, result.output
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert np.array(figures["T_tracker_base"])[:3, 3] == pytest.approx(T_TRACKER_BASE[:3, 3], abs=2e-3)
    assert len(figures["held_out"]) == 2
    assert figures["held_out"][0]["tip"] < figures["held_out"][0]["raw_tip"]
    assert "Hand-eye" in (tmp_path / "report" / "wrist.html").read_text()


def test_rests_in_a_bag_become_rows(tmp_path: Path) -> None:
    """A bag in which the arm stops at every pose: joints and poses of the rests, in their order."""
    command, store = MOTION.command[:60], get_typestore(Stores.ROS2_HUMBLE)
    seen = seen_by_a_tracker(command, 7)[0]
    Header, Time = store.types["std_msgs/msg/Header"], store.types["builtin_interfaces/msg/Time"]
    types = {name: store.types[f"geometry_msgs/msg/{name}"] for name in ("Pose", "PoseStamped", "Point", "Quaternion")}
    with Writer(tmp_path / "bag", version=9) as writer:
        kinds = {"/PSM1/measured_js": "sensor_msgs/msg/JointState", "/tracker/marker": "geometry_msgs/msg/PoseStamped"}
        topics = {name: writer.add_connection(name, kind, typestore=store) for name, kind in kinds.items()}
        for k in range(len(command) * 10):
            t, row, part = 100.0 + 0.1 * k, k // 10, k % 10
            share = min(1.0, part / 3.0)
            q = command[max(0, row - 1)] * (1.0 - share) + command[row] * share
            header = Header(stamp=Time(sec=int(t), nanosec=round(1e9 * (t % 1.0))), frame_id="")
            state = store.types[kinds["/PSM1/measured_js"]](
                header=header, name=[], position=q, velocity=0 * q, effort=0 * q
            )
            at = seen[row] if part >= 3 else seen[max(0, row - 1)]
            x, y, z, w = Rotation.from_matrix(at[:3, :3]).as_quat().tolist()
            point = types["Point"](*at[:3, 3].tolist())
            marker = types["PoseStamped"](header, types["Pose"](point, types["Quaternion"](x, y, z, w)))
            for name, message in (("/PSM1/measured_js", state), ("/tracker/marker", marker)):
                writer.write(topics[name], round(1e9 * t), store.serialize_cdr(message, kinds[name]))
    read = load_motion(tmp_path / "bag", MECHANISM)
    assert isinstance(read, PosePairs)
    assert read.command == pytest.approx(command, abs=1e-12)
    assert read.seen[read.visible] == pytest.approx(seen[read.visible], abs=1e-9)
    assert read.visible.sum() >= 59
    with pytest.raises(TrocarError, match="topic of poses"):
        load_motion(tmp_path / "bag", MECHANISM, topic="/elsewhere")


def test_rests_end_where_the_joints_move() -> None:
    t = np.arange(0.0, 4.0, 0.01)
    q = np.zeros((len(t), 6))
    q[:, 4] = np.clip(t - 1.0, 0.0, 1.0)
    (a, b), (c, d) = still_intervals(t, q)
    assert [a, b, c, d] == pytest.approx([0.1, 1.0, 2.1, 3.99], abs=0.02)
