"""Identify an arm from its motion and effort, and use the result like any other parameter set."""

import tempfile
from pathlib import Path

import numpy as np

import trocar as tr
from trocar.identification.identified_file import identified_text
from trocar.identification.identify import identify
from trocar.recording import Recording

# A recording: here of the simulated arm's equations; yours comes from `load_recording("one_results.csv")`.
mech = tr.load_mechanism("PSM", "wang2019")
t = np.arange(2000) / 200.0
phase = np.outer(t, [2.0, 2.6, 3.1, 2.3, 2.9, 3.4, 3.7])
q = np.array([0, 0, 0.14, 0, 0, 0, 0.4]) + np.array([0.5, 0.4, 0.05, 0.6, 0.5, 0.4, 0.2]) * (
    np.sin(phase) + 0.4 * np.sin(2.6 * phase + 1.0)
)
dq = np.gradient(q, t, axis=0)
tau = mech.inverse_dynamics(q, dq, np.gradient(dq, t, axis=0), friction=True)
units = ["m" if joint.kind == "prismatic" else "rad" for joint in mech.arm.joints]
recording = Recording(t=t, q=q, dq=dq, tau=tau, joints=mech.arm.joint_names, joint_units=units)

found = identify(recording, "PSM")
print(f"solver: {found.status}; relative error of effort:")
for name, train, left_out in zip(found.columns, found.train_relative_error, found.cv_relative_error, strict=True):
    print(f"  {name:12s} {train:.3f} where fitted, {left_out:.3f} where left out")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "mine.toml"
    path.write_text(identified_text(found, "example 17"), encoding="utf-8")
    mine = tr.load_mechanism("PSM", path)
# Weight and offsets can only be seen together: what holds the arm at rest.
for name, model in (("identified", mine), ("true", mech)):
    home = model.arm.home
    print(f"effort at rest, {name}:", (model.gravity(home) + model.friction(home, np.zeros(7))).round(3))
