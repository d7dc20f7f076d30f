"""A script for release 2.2: a node, bare values; a custom class over crtk.utils, ECM, MTM and set-up joints."""

import sys

import crtk
import crtk_msgs.msg
import dvrk
import numpy
import PyKDL


class simple_arm:
    """The part of an arm that the script needs, and nothing else."""

    class Jaw:
        def __init__(self, ral, operating_state_instance):
            self.utils = crtk.utils(self, ral, operating_state_instance=operating_state_instance)
            self.utils.add_measured_js()
            self.utils.add_move_jp()

    def __init__(self, ral):
        self.utils = crtk.utils(self, ral)
        self.utils.add_operating_state()
        self.utils.add_measured_js()
        self.utils.add_measured_cp()
        self.utils.add_setpoint_cp()
        self.utils.add_move_cp()
        self.utils.add_servo_cp()
        self.jaw = self.Jaw(ral.create_child("jaw"), self)


def run(ral):
    psm = simple_arm(ral.create_child("PSM2"))
    ral.check_connections()
    assert psm.enable(10)
    assert psm.home(10)
    goal = PyKDL.Frame(psm.setpoint_cp())
    goal.p = goal.p + PyKDL.Vector(0.0, 0.01, 0.0)
    handle = psm.move_cp(goal)
    assert handle.wait()
    assert (psm.measured_cp().p - goal.p).Norm() < 0.002
    assert psm.jaw.move_jp(numpy.array([0.5])).wait()
    assert abs(psm.jaw.measured_jp()[0] - 0.5) < 0.05
    positions, velocities, efforts, stamp = psm.measured_js()
    assert positions.shape == velocities.shape == efforts.shape == (6,)
    again, later = psm.measured_jp(extra=True)
    assert numpy.allclose(again, positions)
    assert later == stamp > 0

    ecm = dvrk.ecm(ral, "ECM", expected_interval=0.01)
    assert ecm.enable(10)
    assert ecm.home(10)
    start = numpy.copy(ecm.setpoint_jp())
    assert ecm.move_jr(numpy.array([0.05, 0.0, 0.01, 0.0])).wait()
    assert numpy.allclose(ecm.measured_jp() - start, [0.05, 0.0, 0.01, 0.0], atol=0.01)

    mtm = dvrk.mtm(ral, "MTMR")
    assert mtm.enable(10)
    assert mtm.home(10)
    mtm.lock_orientation_as_is()
    mtm.lock_orientation(mtm.measured_cp().M)
    mtm.body.servo_cf(numpy.zeros(6))
    ral.create_rate(10).sleep()
    mtm.unlock_orientation()
    gains = crtk_msgs.msg.CartesianImpedance()
    gains.force_orientation.w = gains.torque_orientation.w = 1.0
    p = mtm.setpoint_cp().p
    gains.force_position.x, gains.force_position.y, gains.force_position.z = p.x(), p.y(), p.z()
    gains.position_negative.p.x = gains.position_positive.p.x = -200.0
    mtm.servo_ci(gains)
    ral.create_rate(10).sleep()
    assert mtm.gripper.measured_jp().shape == (1,)
    mtm.hold()

    suj = dvrk.suj(ral)
    assert len(suj.PSM1.measured_jp()) >= 4
    assert isinstance(suj.PSM1.measured_cp(), PyKDL.Frame)
    console, system = dvrk.console(ral, "console"), dvrk.system(ral, "system")
    console.teleop_set_scale(0.5)
    assert console.teleop_get_scale() == 0.5
    system.beep(0.1, 440.0)
    print("passed: 2.2", ral.namespace() or "no namespace")


if __name__ == "__main__":
    node = crtk.ral("simple_application")
    node.spin_and_execute(run, node)
    assert not node.is_shutdown()
    node.shutdown()
    assert node.is_shutdown()
    sys.exit(4)
