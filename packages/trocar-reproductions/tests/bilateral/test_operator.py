"""The scripted operator: impedance of the hand, intentions, tremor, recorded masters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from trocar.errors import TrocarError
from trocar_reproductions.bilateral.operator import (
    ForeArm,
    GripImpedance,
    Operator,
    Reaches,
    RecordedPath,
    SinusoidalPaths,
    jigsaws_master,
    recorded_master,
    tremor_noise,
)

DT = 1e-3
STILL = np.zeros((3, 1))


def test_a_reach_has_minimum_jerk() -> None:
    t = np.arange(0.0, 2.0, DT)
    x = Reaches([(0.5, (0.0, 0.0, -0.1), 0.8)])(t)[:, 2]
    v = np.gradient(x, DT)
    assert x[:500].tolist() == [0.0] * 500
    assert x[-1] == pytest.approx(-0.1)
    assert -v.min() == pytest.approx(1.875 * 0.1 / 0.8, rel=1e-3)  # Flash and Hogan 1985
    assert np.abs(v[[500, 1300]]).max() < 1e-4


def test_reaches_may_differ_between_cells() -> None:
    goal = np.zeros((3, 2))
    goal[2] = -0.1, -0.2
    x = Reaches([(0.0, goal, 1.0), (1.0, 0.5 * goal, 1.0)])(np.array([0.0, 1.0, 2.0]))
    assert x[:, 2].tolist() == [[0.0, 0.0], [-0.1, -0.2], [-0.05, -0.1]]


def test_sinusoids_have_the_frequency_and_amplitude_of_their_cell() -> None:
    t = np.arange(0.0, 2.0, DT)
    x = SinusoidalPaths([1.0, 4.0], [1e-3, 2e-3])(t)[1000:, 2]
    assert np.abs(x).max(axis=0) == pytest.approx([1e-3, 2e-3], rel=1e-3)
    assert (np.diff(np.sign(x), axis=0) != 0).sum(axis=0).tolist() == pytest.approx([2, 8], abs=1)


@pytest.mark.parametrize(("grip", "k"), [("relaxed", 100.0), ("normal", 200.0), ("firm", 1000.0)])
def test_a_hand_tied_to_its_path_pushes_with_the_stiffness_of_its_grip(grip: str, k: float) -> None:
    hand = Operator(lambda t: np.full((len(t), 3), 0.01), grip)
    hand.start(10, DT, 1)
    assert hand.force(5, STILL, STILL) == pytest.approx(0.01 * k)


def test_an_arm_behind_the_grip_puts_its_stiffness_in_series() -> None:
    hand = Operator(lambda t: np.full((len(t), 3), 0.01), GripImpedance(200.0, 5.0), ForeArm())
    hand.start(3000, DT, 1)
    first = hand.force(0, STILL, STILL)
    for k in range(1, 3000):
        last = hand.force(k, STILL, STILL)
    assert last == pytest.approx(0.01 / (1.0 / 200.0 + 1.0 / 135.0), rel=1e-3)
    assert first[0, 0] == pytest.approx(0.01 * 200.0)  # the arm begins on the path


def test_a_reaction_time_delays_the_intention() -> None:
    path = Reaches([(0.1, (0.0, 0.0, -0.1), 0.3)])
    late, plain = Operator(path, reaction=0.2), Operator(path)
    for hand in (late, plain):
        hand.start(800, DT, 1)
    assert late.force(500, STILL, STILL) == pytest.approx(plain.force(300, STILL, STILL))


def test_tremor_has_its_rms_and_its_band() -> None:
    noise = tremor_noise(20_000, DT, 1e-4, seed=1)
    assert np.sqrt((noise**2).mean(axis=0)) == pytest.approx(1e-4)
    power = np.abs(np.fft.rfft(noise, axis=0)) ** 2
    f = np.fft.rfftfreq(20_000, DT)
    assert power[(f > 6) & (f < 14)].sum() > 0.9 * power.sum()
    assert (noise == tremor_noise(20_000, DT, 1e-4, seed=1)).all()
    assert (noise != tremor_noise(20_000, DT, 1e-4, seed=2)).any()


@pytest.mark.parametrize("arm", [None, ForeArm()])
def test_tremor_shakes_the_force_of_the_hand(arm: ForeArm | None) -> None:
    hand = Operator(lambda t: np.zeros((len(t), 3)), "normal", arm, tremor=1e-4, seed=4)
    hand.start(500, DT, 1)
    force = np.array([hand.force(k, STILL, STILL) for k in range(500)])
    assert 0.01 < force.std() < 0.2  # 200 N/m and 5 N s/m at 10 Hz: 0.04 N


def test_a_recorded_master_is_replayed_from_its_first_position() -> None:
    arm = tr.load_arm("MTMR")
    t = np.linspace(3.0, 4.0, 21)
    q = np.zeros((21, 7))
    q[:, 1] = 0.1 * (t - 3.0)
    recording = tr.Recording(t=t, q=q, dq=0 * q, joints=arm.joint_names, joint_units=arm.joint_units)
    mechanism = tr.load_mechanism("MTMR")
    x = recorded_master(recording, mechanism)(np.array([0.0, 0.5, 1.0, 9.0]))
    tip = mechanism.forward_kinematics(q)[:, :3, 3]
    assert x[0].tolist() == [0.0, 0.0, 0.0]
    assert x[1] == pytest.approx(tip[10] - tip[0])
    assert x[3] == pytest.approx(tip[-1] - tip[0])


@pytest.mark.parametrize(("hand", "first"), [("left", 0), ("right", 19)])
def test_a_jigsaws_file_gives_the_path_of_the_master(tmp_path: Path, hand: str, first: int) -> None:
    table = np.random.default_rng(0).normal(size=(31, 76))
    np.savetxt(path := tmp_path / "Suturing_B001.txt", table)
    path_of_master = jigsaws_master(path, hand)
    assert isinstance(path_of_master, RecordedPath)
    assert path_of_master(np.array([1.0]))[0] == pytest.approx(
        table[30, first : first + 3] - table[0, first : first + 3]
    )


@pytest.mark.parametrize("text", ["1 2 3\n4 5 6\n", "", "a b\n", "1 " * 76 + "\n", ("nan " * 76 + "\n") * 2])
def test_a_file_that_is_not_a_jigsaws_file_is_rejected(tmp_path: Path, text: str) -> None:
    (path := tmp_path / "other.txt").write_text(text)
    with pytest.raises(TrocarError, match=r"other\.txt"):
        jigsaws_master(path)


def test_an_unknown_grip_is_refused() -> None:
    with pytest.raises(TrocarError, match="normal"):
        Operator(Reaches([(0.0, (0.0, 0.0, 0.1), 1.0)]), "loose")
