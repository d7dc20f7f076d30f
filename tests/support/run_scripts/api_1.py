"""A script for release 1: old names, motions that wait."""

import sys

import dvrk
import numpy as np
from PyKDL import Frame, Rotation, Vector

p = dvrk.psm("PSM1")
p.home()
assert p.get_robot_state() == "READY"
assert p.insert_tool(0.12)
q = np.copy(p.get_current_joint_position())
p.move_joint(q + np.array([0.05, 0.0, 0.0, 0.0, 0.0, 0.0]))
assert abs(p.get_current_joint_position()[0] - q[0] - 0.05) < 0.01
p.dmove_joint_one(-0.05, 0)
p.move_joint_some(np.array([0.1]), np.array([3]))
assert abs(p.get_desired_joint_position()[3] - 0.1) < 1e-6
start = Frame(p.get_desired_position())
p.dmove(Vector(0.01, 0.0, 0.0))
assert abs((p.get_current_position().p - start.p).x() - 0.01) < 0.002
p.dmove(Frame(Rotation.RotZ(0.05), Vector(0.0, 0.0, 0.01)))
p.move(Rotation(start.M))
p.move(start)
p.move(start.p, interpolate=False)
assert (p.get_current_position().p - start.p).Norm() < 0.002
p.open_jaw()
assert abs(p.get_current_jaw_position() - np.radians(80.0)) < 0.1
p.dinsert_tool(0.01)
p.close_jaw()
p.move_jaw(0.3)
assert abs(p.get_current_jaw_position() - 0.3) < 0.05
p.set_gravity_compensation(True)
p.set_wrench_body_force((0.0, 0.0, 0.0))
assert np.shape(p.get_current_wrench_body()) == (6,)
assert np.shape(p.get_current_joint_effort()) == (6,)
p.shutdown()
assert p.get_robot_state() == "UNINITIALIZED"
print("passed: 1", sys.argv[1:])
