"""A script for release 2.2: a master with locked orientation and Cartesian impedance, and queries of kinematics."""

import crtk
import crtk_msgs.msg
import dvrk
import numpy as np
import PyKDL

ral = crtk.ral("master")
mtm = dvrk.mtm(ral, "MTMR")
clutch = crtk.joystick_button(ral, "footpedals/clutch")


def impedance():
    goal, here = crtk_msgs.msg.CartesianImpedance(), mtm.measured_cp()
    goal.force_position.x, goal.force_position.y, goal.force_position.z = here.p
    goal.force_orientation.w = 1.0
    turn = goal.torque_orientation
    turn.x, turn.y, turn.z, turn.w = here.M.GetQuaternion()
    for side in (goal.position_positive, goal.position_negative):
        side.p.x = side.p.y = side.p.z = -200.0
        side.d.x = side.d.y = side.d.z = -5.0
    mtm.servo_ci(goal)
    ral.create_rate(2.0).sleep()
    assert (mtm.measured_cp().p - here.p).Norm() < 0.02


def run():
    ral.check_connections()
    assert mtm.enable(10)
    assert mtm.home(20)
    mtm.use_gravity_compensation(True)
    mtm.body.servo_cf(np.zeros(6))
    ral.create_rate(5.0).sleep()
    R = PyKDL.Rotation.RotZ(0.1) * mtm.measured_cp().M
    mtm.lock_orientation(R)
    assert clutch.wait(5.0, 1)
    assert abs((R.Inverse() * mtm.measured_cp().M).GetRotAngle()[0]) < 0.05
    mtm.unlock_orientation()
    impedance()
    jp = mtm.measured_jp()
    assert mtm.spatial.jacobian().shape == (6, 7)
    assert (mtm.forward_kinematics(jp).p - mtm.measured_cp().p).Norm() < 0.002
    mtm.free()
    ral.create_rate(10.0).sleep()
    mtm.hold()
    mtm.move_jp(np.zeros(7)).wait()
    print("passed: 2.2", len(mtm.gripper.measured_jp()))


ral.spin_and_execute(run)
