"""Identification by gradient through rollouts, compared with the linear least squares estimate that it starts from.

The linear estimate minimises the error of efforts. The gradient minimises the error of the simulated motion under these
efforts. Windows of a recording are simulated in one batch from their measured start, and generated code differentiates
the squared error of their ends with respect to friction and masses. `python 35_identify_by_gradient.py RECORDING.csv`
uses a recording of a PSM. Default: a simulated arm with a friction term that the linear model lacks.
"""

import sys

import numpy as np

import trocar as tr
from trocar import batch

WINDOW, NAMES = 20, ("Fv", "dahl_F", "mass")


def recorded() -> tr.Recording:
    """The recording named on the command line, or one of a simulated arm with load-dependent friction."""
    if len(sys.argv) > 1:
        return tr.load_recording(sys.argv[1], "PSM")
    arm = batch.load("PSM")
    dt, t = 2e-3, 2e-3 * np.arange(4000)
    drives = arm.mechanism.tree.drives
    arm = arm.with_parameters(mu=np.full(len(drives.Fc), 0.03), Fc=1.4 * drives.Fc, Fv=0.7 * drives.Fv)
    home, size = np.array([0, 0, 0.14, 0, 0, 0, 0.4]), np.array([0.5, 0.4, 0.05, 0.6, 0.5, 0.4, 0.2])
    phase = np.outer(t, [2.0, 2.6, 3.1, 2.3, 2.9, 3.4, 3.7])
    reference = home + size * (np.sin(phase) + 0.4 * np.sin(2.6 * phase + 1.0) - 0.4 * np.sin(1.0))
    _, log = arm.rollout(arm.state(home), batch.JointPID(reference), dt)
    return log.recording()


recording = recorded()
linear = tr.load_mechanism("PSM", tr.identify(recording, "PSM").parameters)
interval = float(np.median(np.diff(recording.t)))
parts = int(np.ceil(interval / 2.5e-3))  # steps between two rows: hysteretic friction needs short ones
dt = interval / parts
starts = np.arange(0, len(recording.t) - WINDOW - 1, WINDOW)
fitted, held_out = starts[::2], starts[1::2]
scale = recording.q.std(axis=0)[:, None]


def windows(arms, chosen):
    """States, efforts (steps, 7, N) and measured ends of windows."""
    steps = chosen[None, :] + np.repeat(np.arange(WINDOW), parts)[:, None]
    state = arms.state(recording.q[chosen].T, recording.dq[chosen].T)
    effort = (recording.tau[steps] - linear.effort_bias).transpose(0, 2, 1)
    return state, effort, recording.q[chosen + WINDOW].T


def error(arms, chosen):
    """Root mean square error of the ends of windows, relative to the motion of the joint."""
    state, effort, measured = windows(arms, chosen)
    end, _ = arms.rollout(state, effort, dt, log=False)
    return float(np.sqrt(np.mean(((end.q - measured) / scale) ** 2)))


arms = batch.load(linear, limits=False)
values = {name: np.array(arms.parameters[name]) for name in NAMES}
best, before = arms, [error(arms, x) for x in (fitted, held_out)]
moments = {name: [np.zeros_like(x), np.zeros_like(x)] for name, x in values.items()}
for k in range(1, 26):  # Adam on the logarithms, so that parameters stay positive
    state, effort, measured = windows(arms, fitted)
    end, _ = arms.rollout(state, effort, dt, log=False)
    *_, by = arms.gradients(state, effort, dt, (end.q - measured) / scale**2, parameters=NAMES)
    for name, x in values.items():
        gradient, (m, v) = by[name] * x, moments[name]
        m += 0.2 * (gradient - m)
        v += 0.02 * (gradient**2 - v)
        values[name] = x * np.exp(-0.02 * (m / (1 - 0.8**k)) / (np.sqrt(v / (1 - 0.98**k)) + 1e-12))
    arms = arms.with_parameters(**values)
    if error(arms, fitted) < error(best, fitted):
        best = arms
after = [error(best, x) for x in (fitted, held_out)]
print(f"error of the simulated position after {1e3 * WINDOW * interval:.3g} ms, relative to the motion:")
print(f"  linear identification  {before[0]:.5f} on fitted, {before[1]:.5f} on held-out windows")
print(f"  gradient from there    {after[0]:.5f} on fitted, {after[1]:.5f} on held-out windows")
assert after[1] < before[1]
