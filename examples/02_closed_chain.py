"""The closed mechanism of a PSM: all links of the parallelograms, their loops and the remote centre."""

import numpy as np

import trocar as tr

np.set_printoptions(precision=1, suppress=True)

q = np.array([0.3, -0.4, 0.15, 0.0, 0.0, 0.0, 0.0])

for geometry in ("wang2019", "gondokaryono2019"):
    psm = tr.load_mechanism("PSM", parameters=geometry)
    print(f"\nPSM, geometry of {geometry}: {len(psm.arm.bodies)} moving links, {psm.n} joints")

    # Every link follows the joints through a constant matrix, q_tree = E q.
    q_tree = psm.tree_configuration(q)
    poses = psm.poses(q)
    for body, value in zip(psm.arm.bodies, q_tree, strict=True):
        unit = "rad" if body.kind == "revolute" else "m"
        print(f"  {body.name:14s} joint {value:7.3f} {unit:3s}  origin [mm] {1e3 * poses[body.name][:3, 3]}")

    # No constraint closes the loops here: they close because the lengths are right.
    states = np.random.default_rng(0).uniform(psm.arm.lower, psm.arm.upper, (1000, psm.n))
    print(f"  loop gap over 1000 states:        {psm.loop_residual(states).max():.1e} m")
    print(f"  insertion axis to remote centre:  {psm.rcm_residual(states).max():.1e} m")
    off = np.abs(psm.pose(states, "tip") - psm.forward_kinematics(states)).max()
    print(f"  closed chain against dVRK table:  {off:.1e}")
    travel = psm.jacobian(np.zeros(7), "counterweight")[2, 2]
    print(f"  counterweight rises {travel:.4f} m per metre of insertion")
