"""Plan around a box between two poses of the instrument: the straight motion collides, the planned one does not."""

import time

import numpy as np

import trocar as tr
from trocar.control.trajectories import check_path, time_optimal
from trocar.simulation import Box, CollisionScene
from trocar.simulation.planning.planner import PlanningFailed, plan

np.set_printoptions(precision=3, suppress=True)
psm = tr.load_mechanism("PSM")
start = np.array([-0.5, 0.0, 0.16, 0.0, 0.0, 0.0, 0.0])
goal = np.array([0.5, 0.0, 0.16, 0.0, 0.0, 0.0, 0.0])

# Obstacles are in the base frame, whose origin is the remote centre of motion.
scene = CollisionScene(psm.arm, {"box": Box(centre=(0.0, 0.0, -0.12), size=(0.03, 0.06, 0.08))})
print("at the start:", scene.clearance(start))

straight = time_optimal(psm.arm, [start, goal])
print("straight:", check_path(psm, straight, contacts=scene).first("collision"))

begin = time.perf_counter()
found = plan(scene, start, goal)
print(f"\nplanned in {time.perf_counter() - begin:.2f} s with {found.nodes} nodes; via points:")
print(found.via[:, :3])
print(f"duration {found.reference.duration:.2f} s, smallest clearance {1e3 * found.clearance:.1f} mm")
print(check_path(psm, found.reference, contacts=scene))

try:
    plan(scene, start, (start + goal) / 2)
except PlanningFailed as error:
    print(f"\ngoal inside the box: {error}")
