"""Filters have the stated cut-off, differences are exact for polynomials, and bad samples are replaced."""

from dataclasses import replace

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.identification.cross_validation import FOLDS, SHIFTS, bins, folds, period
from trocar.identification.signals import prepare
from trocar.recording import Recording
from trocar.recording.filters import derivative, filtered, lowpass, repeated_rows, uniform

RATE = 200.0


def recording(t, q, dq=None, tau=None):
    q = np.atleast_2d(q.T).T
    n = q.shape[1]
    return Recording(
        t=t,
        q=q,
        dq=np.gradient(q, t, axis=0) if dq is None else dq,
        tau=np.sin(3 * q) + t[:, None] if tau is None else tau,
        joints=[f"j{i}" for i in range(n)],
        joint_units=["rad"] * n,
    )


@pytest.fixture
def smooth():
    t = np.arange(2000) / RATE
    return recording(t, np.column_stack([np.sin(1.3 * t), np.cos(2.1 * t)]))


def test_the_zero_phase_filter_halves_the_amplitude_at_its_cutoff():
    t = np.arange(8000) / RATE
    middle = slice(3000, 5000)
    filtered = lowpass(np.sin(2 * np.pi * 6.0 * t), 6.0, RATE)[middle]
    assert filtered.std() / np.sin(2 * np.pi * 6.0 * t)[middle].std() == pytest.approx(0.5, abs=1e-3)
    slow = np.sin(2 * np.pi * 0.5 * t)
    np.testing.assert_allclose(lowpass(slow, 6.0, RATE)[middle], slow[middle], atol=1e-4)


def test_a_cutoff_above_half_the_rate_is_rejected():
    with pytest.raises(TrocarError, match="needs more than 240 samples"):
        lowpass(np.zeros(500), 120.0, RATE)


def test_the_difference_of_five_points_is_exact_for_quartics():
    t = np.arange(100) / RATE
    x = 3 * t**4 - t**3 + 2 * t
    np.testing.assert_allclose(derivative(x, RATE)[2:-2], (12 * t**3 - 3 * t**2 + 2)[2:-2], atol=1e-9)


def test_repeated_rows_are_found_and_interpolated(smooth):
    stale = np.arange(50, 1950, 7)
    q, dq, tau = (np.array(x) for x in (smooth.q, smooth.dq, smooth.tau))
    for x in (q, dq, tau):
        x[stale] = x[stale - 1]
    damaged = replace(smooth, q=q, dq=dq, tau=tau)
    assert (np.flatnonzero(repeated_rows(damaged)) == stale).all()
    found, true = (prepare(x, [np.inf] * 2, np.inf, 0.5) for x in (damaged, smooth))
    assert np.abs(found.q - true.q).max() < 3e-5
    assert np.abs(q - smooth.q).max() > 5e-3


def test_an_arm_that_stops_keeps_its_position(smooth):
    q, dq = np.array(smooth.q), np.array(smooth.dq)
    q[1200:], dq[1200:] = q[1200], 0.0
    stopped = prepare(replace(smooth, q=q, dq=dq), [np.inf] * 2, np.inf, 0.5)
    np.testing.assert_array_equal(stopped.q, q)
    np.testing.assert_array_equal(stopped.dq[1201:], 0.0)


def test_a_recording_without_motion_is_rejected(smooth):
    still = replace(smooth, q=np.zeros_like(smooth.q), dq=np.zeros_like(smooth.dq))
    with pytest.raises(TrocarError, match="nothing moves"):
        prepare(still, [np.inf] * 2, np.inf, 0.5)


def test_jitter_is_resampled_and_a_gap_is_an_error(smooth):
    t = np.array(smooth.t)
    t[1:-1] += 1e-3 * np.random.default_rng(0).uniform(-1, 1, len(t) - 2)
    shaken = recording(t, np.column_stack([np.sin(1.3 * t), np.cos(2.1 * t)]))
    even = uniform(shaken)
    assert np.ptp(np.diff(even.t)) < 1e-9
    np.testing.assert_allclose(even.q[:, 0], np.sin(1.3 * even.t), atol=1e-4)
    t[1000:] += 0.5
    with pytest.raises(TrocarError, match=r"a gap of 0\.5"):
        uniform(recording(t, np.sin(t)))


def test_a_delayed_effort_is_shifted_back(smooth):
    late = np.column_stack([np.interp(smooth.t - 0.05, smooth.t, x) for x in smooth.tau.T])
    found = prepare(replace(smooth, tau=late), [np.inf] * 2, np.inf, 0.5, delay=0.05)
    np.testing.assert_allclose(found.tau[found.used], smooth.tau[found.used], atol=1e-9)


def test_slow_rows_can_be_excluded(smooth):
    found = prepare(smooth, [np.inf] * 2, np.inf, 0.5)
    fast = found.faster_than(0.1)
    np.testing.assert_array_equal(fast, np.abs(found.dq[found.used]) >= 0.1 * np.abs(found.dq).max(0))
    assert ((fast.sum(0) > 500) & (fast.sum(0) < 1800)).all()


def test_the_period_of_a_motion_is_found_and_is_none_without_repetition():
    t = np.arange(5000) / RATE
    repeats = prepare(recording(t, np.sin(2 * np.pi * t / 6.0) + np.cos(4 * np.pi * t / 6.0)), [np.inf], np.inf, 1.0)
    assert period(repeats) == 1200
    chirp = prepare(recording(t, np.sin(0.2 * t**2)), [np.inf], np.inf, 1.0)
    assert period(chirp) is None


def test_held_out_rows_and_their_neighbours_are_never_fitted():
    t = np.arange(5000) / RATE
    signals = prepare(recording(t, np.sin(2 * np.pi * t / 6.0)), [np.inf], np.inf, 1.0)
    bin_of_row = bins(signals, period(signals))
    judged_often = np.zeros(len(bin_of_row))
    guard = 1200 / (FOLDS * SHIFTS)
    rows = np.flatnonzero(signals.used)
    for fitted, judged in folds(bin_of_row, periodic=True):
        judged_often += judged
        distance = (rows[fitted][:, None] - rows[judged][::20][None, :]) % 1200
        assert np.minimum(distance, 1200 - distance).min() >= guard - 1
    assert (judged_often == SHIFTS).all()


def test_filtering_keeps_times_and_slow_motion_and_adds_acceleration(smooth):
    rng = np.random.default_rng(0)
    noisy = replace(smooth, dq=smooth.dq + 1e-2 * rng.standard_normal(smooth.dq.shape))
    found = filtered(noisy)
    np.testing.assert_array_equal(found.t, smooth.t)
    middle = slice(200, -200)
    exact = np.column_stack([-(1.3**2) * np.sin(1.3 * smooth.t), -(2.1**2) * np.cos(2.1 * smooth.t)])
    raw = np.gradient(noisy.dq, noisy.t, axis=0)
    assert np.abs(found.ddq - exact)[middle].std() < 0.3 * np.abs(raw - exact)[middle].std()
    np.testing.assert_allclose(found.q[middle], smooth.q[middle], atol=1e-6)
    uneven = replace(smooth, t=smooth.t + 5e-4 * (np.arange(len(smooth)) % 2))
    assert len(filtered(uneven)) == len(uneven)
    np.testing.assert_allclose(filtered(uneven).q[middle], smooth.q[middle], atol=2e-3)


def test_the_cutoff_of_a_slow_recording_is_below_its_rate(smooth):
    slow = replace(smooth, t=10.0 * smooth.t)  # 20 Hz
    np.testing.assert_allclose(filtered(slow).q[50:-50], slow.q[50:-50], atol=1e-3)
    with pytest.raises(TrocarError, match="needs more than 34 samples per second"):
        filtered(slow, 17.0)
