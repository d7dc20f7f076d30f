"""Identify an arm from its motion and effort, and use the result like any other parameter set."""

import numpy as np

import trocar as tr

# A recording made with known equations; load yours with `tr.load_recording("measured.csv", "PSM", as_recorded=True)`.
mech = tr.load_mechanism("PSM", "wang2019")
t = np.arange(2000) / 200.0
phase = np.outer(t, [2.0, 2.6, 3.1, 2.3, 2.9, 3.4, 3.7])
q = np.array([0, 0, 0.14, 0, 0, 0, 0.4]) + np.array([0.5, 0.4, 0.05, 0.6, 0.5, 0.4, 0.2]) * (
    np.sin(phase) + 0.4 * np.sin(2.6 * phase + 1.0)
)
dq = np.gradient(q, t, axis=0)
tau = mech.inverse_dynamics(q, dq, np.gradient(dq, t, axis=0), friction=True)
recording = tr.Recording(t=t, q=q, dq=dq, tau=tau, joints=mech.arm.joint_names, joint_units=mech.arm.joint_units)

found = tr.identify(recording, "PSM")
print(f"solver: {found.status}; relative error of effort:")
for name, train, held_out in zip(found.columns, found.train_relative_error, found.cv_relative_error, strict=True):
    print(f"  {name:12s} {train:.3f} on fitted rows, {held_out:.3f} on held-out rows")

# On the command line: `trocar identify -o mine.toml`, then `tr.load_mechanism("PSM", "mine.toml")`.
mine = tr.load_mechanism("PSM", found.parameters)
# Weight and constant forces cannot be separated here, so compare their sum: the effort that holds the arm at rest.
for name, model in (("identified", mine), ("true", mech)):
    home = model.arm.home
    print(f"effort at rest, {name}:", (model.gravity(home) + model.friction(home, np.zeros(7))).round(3))
