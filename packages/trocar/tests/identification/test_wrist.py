"""Identification of wrist cables: known numbers come back within their intervals; files are read and checked."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tools import derive_wrist
from trocar.arms.wrist_cables import WristCables, load_wrist
from trocar.cli import application
from trocar.errors import TrocarError
from trocar.identification.wrist import JointPairs, held_out_scores, identify_wrist, score
from trocar.identification.wrist.cable_numbers import joint_friction
from trocar.identification.wrist.joint_pairs import JOINTS, UNITS
from trocar.identification.wrist.scores import modelled_wrist
from trocar.mechanics import CableWrist, load_mechanism

DATA = Path(os.environ.get("TROCAR_DATA", "no data folder"))
MECHANISM = load_mechanism("PSM")
FRICTION = joint_friction(MECHANISM)  # sets the scale, which positions do not
TRUTH = WristCables(
    name="truth",
    source="test",
    stiffness=[[0.15, 0.0, 0.0], [0.0, 0.1, 0.08], [0.0, 0.08, 0.2]],
    friction=[
        joint_friction(MECHANISM)[0],
        *(np.sqrt(np.prod(joint_friction(MECHANISM)[1:])) * np.array([0.7, 1 / 0.7])),
    ],
    presliding=[3.0, 2.0, 3.0],
    coupling=[[1.0, -0.01, 0.02], [0.03, 0.93, 0.05], [-0.02, 0.1, 0.95]],
)


def rehearsal(seed: int, rows: int = 400) -> JointPairs:
    """A random motion of the true wrist, seen with 5 mrad and 0.1 mm of noise and constant offsets."""
    random = np.random.default_rng(seed)
    corners = random.uniform(-0.8, 0.8, (rows // 10 + 1, 6)) * [0.3, 0.3, 0.03, 1.5, 1.0, 1.0] + [0, 0, 0.15, 0, 0, 0]
    at = np.arange(rows) / 10.0
    command = np.column_stack([np.interp(at, np.arange(len(corners)), corners[:, j]) for j in range(6)])
    seen = (
        command + [2e-3, -1e-3, 5e-4, 0.1, -0.1, 0.2] + random.normal(size=(rows, 6)) * [1e-3, 1e-3, 1e-4, *[5e-3] * 3]
    )
    seen[:, 3:] += CableWrist(TRUTH).rest(command[:, 3:]).q - command[:, 3:]
    return JointPairs(name=f"rehearsal {seed}", command=command, seen=seen)


def test_a_rehearsal_recovers_stiffness_friction_and_coupling() -> None:
    motion = rehearsal(1)
    wrist = identify_wrist([motion], MECHANISM, "mine", "test")
    sigma = np.sqrt(np.diag(wrist.cables.covariance))
    known = sigma > 1e-12  # roll's friction and its stiffness with the others are fixed
    z = ((wrist.cables.numbers - TRUTH.numbers)[known]) / sigma[known]
    assert np.sqrt(np.mean(z**2)) < 2.0
    assert wrist.cables.stiffness == pytest.approx(TRUTH.stiffness, abs=0.02)
    held_out = held_out_scores(wrist, MECHANISM)
    assert max(s.residual.max() for s in held_out) < 8e-3  # the noise is 5 mrad
    assert min(s.offset for s in held_out) > 2.0 * max(s.registered for s in held_out)


def test_files_of_pairs_read_alike(tmp_path: Path) -> None:
    motion = rehearsal(0, 60)
    np.savez(tmp_path / "one.npz", command=motion.command, seen=motion.seen)
    titles = [f"{kind}_{j} [{u}]" for kind in ("command", "seen") for j, u in zip(JOINTS, UNITS, strict=True)]
    rows = [",".join(map(repr, row)) for row in np.column_stack([motion.command, motion.seen]).tolist()]
    (tmp_path / "one.csv").write_text("\n".join([",".join(titles), *rows]))
    (tmp_path / "one").mkdir()
    np.save(tmp_path / "one" / "q_des_raw.npy", motion.command)
    np.save(tmp_path / "one" / "q_act_raw.npy", motion.seen)
    for name in ("one.npz", "one.csv", "one"):
        read = JointPairs.load(tmp_path / name)
        assert np.array_equal(read.command, motion.command)
        assert np.array_equal(read.seen, motion.seen)


def test_unusable_files_of_pairs_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", command=np.zeros((60, 6)))
    (tmp_path / "one.csv").write_text("command_yaw [rad]\n1\n")
    (tmp_path / "damaged.npz").write_bytes(b"PK nothing")
    for name, problem in (
        ("one.npz", "no entry seen"),
        ("one.csv", "no column command_pitch"),
        ("damaged.npz", "not a file of arrays"),
        ("none", "neither a file"),
    ):
        with pytest.raises(TrocarError, match=problem):
            JointPairs.load(tmp_path / name)
    with pytest.raises(TrocarError, match="at least 50 rows"):
        JointPairs(name="short", command=np.zeros((3, 6)), seen=np.zeros((3, 6)))


def test_the_command_writes_cables_figures_and_a_report(tmp_path: Path) -> None:
    motion = rehearsal(2, 320)
    np.savez(tmp_path / "one.npz", command=motion.command, seen=motion.seen)
    names = [str(tmp_path / name) for name in ("one.npz", "mine.toml", "figures.json", "report")]
    arguments = ["identify-wrist", names[0], "-o", names[1], "--json", names[2], "--report", names[3]]
    result = CliRunner().invoke(application(), arguments)
    assert result.exit_code == 0, result.output
    assert load_wrist(tmp_path / "mine.toml").source.endswith("one.npz")
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["min_stiffness_eigenvalue"] > 0.0
    assert figures["held_out"][0]["registered_tip_error_m"] < figures["held_out"][0]["raw_tip_error_m"]
    assert "simulated" in (tmp_path / "report" / "wrist.html").read_text()


@pytest.mark.skipif(not (DATA / derive_wrist.FOLDER).is_dir(), reason="TROCAR_DATA has no joints of Hwang et al.")
def test_the_built_in_cables_follow_from_the_published_joints() -> None:
    again, built_in = derive_wrist.derived(DATA), load_wrist(derive_wrist.NAME)
    assert again.numbers == pytest.approx(built_in.numbers, rel=1e-6, abs=1e-12)
    assert again.covariance == pytest.approx(built_in.covariance, rel=1e-3, abs=1e-9)
    assert again.source == built_in.source


def test_the_registration_finds_a_bend_of_the_seen_joints() -> None:
    """A camera that sees roll turned by the square of wrist pitch: registered joints remove it."""
    motion = rehearsal(4)
    seen = motion.seen.copy()
    seen[:, 3] += 0.3 * motion.command[:, 4] ** 2
    bent = JointPairs(name="bent", command=motion.command, seen=seen)
    plain, wrist = (identify_wrist([m], MECHANISM, "mine", "test", folds=0) for m in (motion, bent))
    assert wrist.registration.wrist[0, 0] - plain.registration.wrist[0, 0] == pytest.approx(0.3, abs=0.03)
    judged = score(bent, wrist.cables, wrist.registration, MECHANISM)
    unregistered = (seen[:, 3:] - modelled_wrist(wrist.cables, bent)).std(0)
    assert judged.residual[0] < 0.3 * unregistered[0]
    assert judged.own < 0.7 * judged.wrist
