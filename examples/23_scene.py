"""Three PSMs and an ECM on the Classic cart in one model: a controller for each arm, and set-up joints moved."""

import numpy as np

import trocar as tr
from trocar.appearance import render, save_png
from trocar.control import GravityCompensation, JointPID, quintic

np.set_printoptions(precision=4, suppress=True)

scene = tr.load_scene("cart_classic", timestep=1 / 1500)  # or your own scene file; the dVRK's PID runs at 1500 Hz
for name, arm in scene.arms.items():
    print(f"{name:4s} {arm.arm.name}, {arm.parameters.name}; tip in the world {scene.T_world_tip(name)[:3, 3]} m")

# Every arm has its own controller; PSM1 and the ECM move, the others hold.
controllers = {name: JointPID(arm.arm) + GravityCompensation(arm.mechanism) for name, arm in scene.arms.items()}
q1, q_ecm = scene.arms["PSM1"].q, scene.arms["ECM"].q
references = {
    "PSM1": quintic(q1, q1 + [0.03, -0.03, 0.01, 0.5, 0.2, 0.0, 0.3], 0.4),
    "ECM": quintic(q_ecm, q_ecm + [0.0, 0.0, 0.02, 0.1], 0.4),
}
recordings = tr.simulate(scene, controllers, references, 0.5, every=10, diagnostics=True)
for name, recording in recordings.items():
    error = np.abs(recording.commands["q"] - recording.q).max(0)
    print(f"{name:4s} largest error {error} rad, m; RCM error {recording.extra['rcm_error'].max():.1e} m")

# Move the set-up joints, as by hand with the brakes released: the arm keeps its joint positions, its base moves.
q_setup = scene.cart.q_setup["PSM1"].copy()
q_setup[0] += 0.05
scene.set_up("PSM1", q_setup)
print(f"\nPSM1 raised by 5 cm: tip now at {scene.T_world_tip('PSM1')[:3, 3]} m")
try:
    scene.set_up("PSM3", scene.cart.place("PSM3", scene.T_world_base("PSM2")[:3, 3]).q_setup)
except tr.TrocarError as error:
    print(f"PSM3 cannot be where PSM2 is: {error}")

try:
    print("saved", save_png("scene_cart.png", render(scene, (248.0, -10.0), (900, 760), labels=True)).name)
except tr.TrocarError as error:
    print(f"no picture: {error}")
