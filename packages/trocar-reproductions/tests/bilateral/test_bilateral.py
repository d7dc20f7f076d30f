"""Bilateral control on the simulated MTM and PSM: stability, passivity, transparency, outages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from trocar.errors import TrocarError
from trocar.teleoperation.channel import Channel, Outages
from trocar.teleoperation.coupling import (
    SCHEMES,
    DampingInjection,
    EnergyObserver,
    FourChannel,
    Packet,
    Passivity,
    PositionPosition,
    TimeDomainPassivity,
    WaveVariables,
    dot,
)
from trocar_reproductions.bilateral.arms import ContactTruth, MeasuredEffort, Observed, TipSensor
from trocar_reproductions.bilateral.laboratory import GAP, contact_runs, pair
from trocar_reproductions.bilateral.operator import Reaches
from trocar_reproductions.bilateral.teleoperated_pair import DelayLine, Engagement, PairLog

pytestmark = pytest.mark.xdist_group("bilateral")  # one worker: fixtures are built once
random = np.random.default_rng(0)


def packet(N: int = 2) -> Packet:
    x, v, f, wave = (random.normal(size=(3, N)) for _ in range(4))
    return Packet(x, v, f, wave, random.normal(size=N))


@pytest.fixture(scope="module")
def without() -> PairLog:
    """Position-force control without passivity control at delays of 0, 2 and 10 ms."""
    return contact_runs([0.0, 0.002, 0.01], [1000.0], duration=2.2)


@pytest.fixture(scope="module")
def passive() -> PairLog:
    """Time-domain passivity; the hand returns from 1.7 to 2.7 s."""
    return contact_runs([0.002, 0.01, 0.1], [1000.0], duration=3.4, back=1.7, passivity=TimeDomainPassivity())


def test_position_force_control_is_stable_at_2_ms_and_unstable_at_10_ms(without: PairLog) -> None:
    oscillation = 1e3 * without.oscillation()
    assert oscillation[1] < 0.1
    assert oscillation[2] > 1.0
    assert 1e3 * without.least_margin()[2] < -20.0  # the channel generates energy


def test_the_stiffness_felt_is_that_of_wall_and_slave_in_series(without: PairLog) -> None:
    felt = without.F_m[-1, 2, 0] / -(without.x_m[-1, 2, 0] + GAP)
    assert felt == pytest.approx(1000.0 / (1.0 + 1000.0 / 6000.0), rel=0.15)


def test_time_domain_passivity_stabilises_the_same_start(passive: PairLog) -> None:
    pressed = slice(1400, 1700)
    assert 1e3 * np.ptp(passive.x_m[pressed, 2], axis=0).max() < 0.5
    assert 1e3 * passive.least_margin().min() > -2.0


def test_drift_compensation_returns_the_slave_in_free_motion(passive: PairLog) -> None:
    in_contact, free = (1e3 * np.abs(passive.offset(t)) for t in (1.6, 3.4))
    assert in_contact[2] > 5.0  # the master's energy does not allow more
    assert passive.E_in_m[1600, 2] < 0.1 * 0.5 * 1000.0 * 0.01**2
    assert free.max() < 1.0
    plain = contact_runs(
        [0.1], [1000.0], duration=3.0, back=1.4, passivity=TimeDomainPassivity(drift_compensation=False)
    )
    assert 1e3 * plain.offset(3.0)[0] > 5.0


def test_damping_and_wave_variables_stabilise_an_unstable_pair(without: PairLog) -> None:
    for control in (DampingInjection(), WaveVariables()):
        log = contact_runs([0.01], [1000.0], duration=2.0, passivity=control)
        assert 1e3 * log.oscillation(0.5)[0] < 0.2, control.name
        assert log.f_e[-1, 2, 0] > 1.0  # it still presses


def test_four_channels_follow_better_than_one_and_reflect_more_than_position(without: PairLog) -> None:
    four, positions = (
        contact_runs([0.0], [1000.0], duration=1.8, scheme=scheme) for scheme in (FourChannel(), PositionPosition())
    )
    assert four.following_error()[0] < 0.5 * without.following_error()[0]
    assert four.force_error()[0] < 0.2 * positions.force_error()[0]
    assert positions.F_m[-1, 2, 0] == pytest.approx(0.35, abs=0.1)  # of 6.6 N


def test_force_sources_rank_by_their_information() -> None:
    wrong = {}
    for source in (ContactTruth(), TipSensor(), Observed(), MeasuredEffort()):
        log = contact_runs([0.0], [1000.0], duration=1.2, force=source)
        wrong[source.name] = float(np.sqrt(((log.felt - log.f_e) ** 2).sum(axis=1).mean()))
    assert wrong["contact"] == 0.0
    assert 0.0 < wrong["sensor"] < wrong["observer"] < wrong["measured_cf"] < 2.0


def test_generated_code_and_the_engine_move_the_same_pair() -> None:
    code, engine = (pair(1, stiffness=1000.0, delay=0.0, engine=engine).run(1.2) for engine in (False, True))
    assert code.f_e[-1, 2, 0] > 1.0
    assert 1e3 * np.abs(code.x_m - engine.x_m).max() < 0.1
    assert 1e3 * np.abs(code.x_s - engine.x_s).max() < 0.1


def test_after_an_outage_the_slave_holds_and_follows_again_without_a_jump() -> None:
    lost = Outages(lost=(0.3, 0.3), good=(9.0, 9.0), first=0.6)
    run = pair(
        1,
        wall=False,
        scale=0.2,
        intention=Reaches([(0.1, (0.05, 0.0, -0.1), 1.4)]),
        passivity=TimeDomainPassivity(),
        forward=Channel(0.02, outage=lost),
        backward=Channel(0.02, outage=lost),
        move_limits=True,
    )
    log = run.run(1.8)
    holding = log.following[:, 0] == 0.0
    first, last = np.flatnonzero(holding)[[0, -1]]
    assert holding[first : last + 1].all()
    assert log.t[first] == pytest.approx(0.6 + 0.02 + 0.03, abs=2e-3)
    assert log.t[last] == pytest.approx(0.9 + 0.02 + 0.1, abs=5e-3)
    assert np.ptp(log.target[first : last + 1], axis=0).max() == 0.0
    assert np.abs(log.target[last + 1] - log.target[last]).max() < 1e-6
    assert np.abs(log.x_s[-1, 2, 0]) > 0.2 * 0.03  # it followed before and after
    assert log.asked.max() <= 1.0
    assert 0.2 * np.ptp(log.x_m[first:last, 2]) > 5e-3  # the hand kept moving
    assert (log.F_m[first + 5 : last - 5] == 0.0).all()


def test_set_points_respect_the_move_limits_when_packets_arrive_in_bursts() -> None:
    log = pair(
        1,
        wall=False,
        intention=Reaches([(0.1, (0.0, 0.0, -0.06), 0.4)]),
        forward=Channel(0.02, jitter=0.02, loss=0.3, seed=1),
        backward=Channel(0.02),
        move_limits=True,
    ).run(0.8)
    speed = np.abs(np.diff(log.q_d[:, 2, 0])) / 1e-3
    assert log.asked.max() > 1.5
    assert speed.max() == pytest.approx(0.2)  # the insertion's
    assert 1e3 * np.abs(log.offset(0.8)[0]) < 2.0


def test_an_engagement_holds_after_the_time_out_only() -> None:
    watch = Engagement(2, 1e-3, timeout=0.03, steady=0.1)
    x = np.zeros((3, 2))
    for k in range(400):
        x[:] = 1e-3 * k
        # The first cell misses 20 packets, the second 50.
        fresh = np.array([not 100 <= k < 120, not 100 <= k < 150])
        target = watch.update(fresh, x)
        if k == 140:
            assert watch.following.tolist() == [True, False]
    assert watch.following.all()
    assert watch.outages.tolist() == [0, 1]
    assert target[0, 0] == pytest.approx(0.399)
    assert target[0, 1] < 0.399 - 0.1  # follows from where it held


def test_the_energy_observer_splits_by_direction() -> None:
    observer = EnergyObserver(1)
    energies = random.normal(size=50)
    for dE in energies:
        observer.add(np.array([dE]))
    assert observer.E_in - observer.E_out == pytest.approx(energies.sum())
    assert observer.E_in == pytest.approx(energies[energies > 0].sum())
    assert observer.margin(np.array([1.0])) == pytest.approx(1.0 + energies[energies < 0].sum())


def test_waves_carry_the_power_of_their_ports() -> None:
    control = WaveVariables(b=12.0, cutoff=1e9)
    control.start(2, 1e-3)
    here, remote = packet(), packet()
    F = control.at_master(here.f, here, remote)
    v = here.x / 1e-3  # from zero, in one step
    assert -dot(F, v) == pytest.approx(0.5 * (dot(control.waves[0], control.waves[0]) - dot(remote.wave, remote.wave)))
    _, v = control.at_slave(here.x, here.f, remote)
    assert -dot(here.f, v) == pytest.approx(
        0.5 * (dot(remote.wave, remote.wave) - dot(control.waves[1], control.waves[1]))
    )


def test_without_passivity_control_forces_and_targets_pass_unchanged() -> None:
    control = Passivity()
    control.start(2, 1e-3)
    here, remote = packet(), packet()
    assert (control.at_master(here.f, here, remote) == here.f).all()
    assert control.at_slave(remote.x, here.f, remote)[0] == pytest.approx(remote.x)


@pytest.mark.parametrize("name", SCHEMES)
def test_schemes_are_at_rest_in_agreement(name: str) -> None:
    scheme, zero = SCHEMES[name](), np.zeros((3, 1))
    rest = Packet(zero, zero, zero, zero, np.zeros(1))
    assert not scheme.master_force(rest, rest).any()
    assert not scheme.feed_forward(rest).any()
    pushed = rest._replace(f=zero + 1.0)
    reflects = {"none": 0.0, "position-position": 0.0, "position-force": 1.0, "four-channel": 1.0}[name]
    assert (scheme.master_force(rest, pushed) == reflects).all()
    moved = rest._replace(x=zero + 0.01)
    pulls = {"none": 0.0, "position-position": 3.0, "position-force": 0.0, "four-channel": 3.0}[name]
    assert scheme.master_force(rest, moved) == pytest.approx(pulls)


def test_a_line_gives_every_cell_its_own_packet() -> None:
    packets = np.array([[-1, 0], [0, 1], [1, 2]])
    line = DelayLine(packets)
    for k in range(3):
        row = np.full((3, 2), float(k))
        line.send(k, Packet(row, row, row, row, row[0]))
        received, fresh = line.receive(k)
        assert received.x[0].tolist() == [max(p, 0.0) for p in packets[k]]
        assert fresh.tolist() == (packets[k] >= 0).tolist()


def test_both_arms_are_recorded(tmp_path: Path, without: PairLog) -> None:
    paths = without.save(tmp_path, "pair", cell=1)
    assert [path.name for path in paths] == ["pair-master.npz", "pair-slave.npz"]
    master, slave = (tr.load_recording(path) for path in paths)
    assert [side.provenance["arm"] for side in (master, slave)] == ["MTMR", "PSM"]
    assert (slave.extra["contact_force"] == without.f_e[..., 1]).all()
    assert (slave.commands["q"] == without.q_d[..., 1]).all()
    mechanism = tr.load_mechanism("MTMR")
    tip = mechanism.forward_kinematics(master.q)[:, :3, 3]
    assert np.abs(tip - tip[0] - master.extra["tip"]).max() < 1e-9


def test_a_pair_that_cannot_run_is_refused() -> None:
    with pytest.raises(TrocarError, match="scale must be above 0"):
        pair(1, scale=1.5, delay=0.0)
    with pytest.raises(TrocarError, match="duration must be"):
        pair(1, delay=0.0).run(float("nan"))
    with pytest.raises(TrocarError, match="3 channels for 1 cells"):
        pair(1, forward=[Channel()] * 3, backward=Channel()).run(0.01)
