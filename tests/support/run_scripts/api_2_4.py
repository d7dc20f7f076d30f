"""A script for release 2.4: a node, getters with times, every kind of motion of a PSM, ECM and MTM."""

import argparse
import math
import sys
import time

import crtk
import dvrk
import numpy
import PyKDL


class application:
    def __init__(self, ral, arm_name, expected_interval):
        self.ral = ral
        self.expected_interval = expected_interval
        self.arm = dvrk.psm(ral=ral, arm_name=arm_name)

    def home(self):
        self.ral.check_connections()
        if not self.arm.enable(10):
            sys.exit("failed to enable within 10 seconds")
        if not self.arm.home(10):
            sys.exit("failed to home within 10 seconds")
        assert self.arm.operating_state() == "ENABLED"
        state, stamp = self.arm.operating_state(extra=True)
        assert state == "ENABLED"
        assert stamp > 0
        assert self.arm.is_homed()
        assert self.arm.is_enabled()
        assert not self.arm.is_busy()
        goal, _ = self.arm.setpoint_jp()
        goal[0:2] = 0.0
        goal[2] = 0.12
        goal[3:] = 0.0
        assert self.arm.move_jp(goal).wait()
        assert numpy.allclose(self.arm.measured_jp()[0], goal, atol=0.02)

    def joints(self):
        initial, before = self.arm.setpoint_jp()
        handle = self.arm.move_jp(initial)  # no motion, and yet busy once
        assert handle.is_busy()
        assert handle.wait(is_busy=True)
        assert handle.wait()
        goal = numpy.copy(initial)
        goal[0] += math.radians(5.0)
        handle = self.arm.move_jp(goal)
        assert handle.is_busy()
        while handle.is_busy():
            time.sleep(self.expected_interval)
        assert abs(self.arm.measured_jp()[0][0] - goal[0]) < 0.01
        self.arm.move_jr(numpy.array([-math.radians(5.0), 0, 0, 0, 0, 0])).wait()
        p, v, f, after = self.arm.measured_js()
        assert len(p) == len(v) == len(f) == 6
        assert after > before
        assert abs(p[0] - initial[0]) < 0.01
        assert abs(f).max() > 0

    def servo(self):
        initial, _ = self.arm.setpoint_jp()
        rate = self.ral.create_rate(1.0 / self.expected_interval)
        start = self.ral.now()
        samples = 100
        for i in range(samples):
            goal = numpy.copy(initial)
            goal[0] = initial[0] + math.radians(3.0) * (1.0 - math.cos(2.0 * math.pi * (i + 1) / samples))
            self.arm.servo_jp(goal)
            rate.sleep()
            if i == samples // 2 - 1:
                self.farthest = self.arm.measured_jp()[0][0] - initial[0]
        duration = self.ral.to_sec(self.ral.now() - start)
        assert abs(duration - samples * self.expected_interval) < 0.1 * duration, duration
        assert abs(self.farthest - math.radians(6.0)) < 0.02, self.farthest
        self.arm.servo_jr(numpy.zeros(6))

    def cartesian(self):
        initial = PyKDL.Frame(self.arm.setpoint_cp()[0])
        goal = PyKDL.Frame(initial)
        goal.p[0] += 0.01
        goal.M.DoRotZ(math.radians(10.0))
        assert self.arm.move_cp(goal).wait()
        measured, stamp = self.arm.measured_cp()
        assert stamp > 0
        assert (measured.p - goal.p).Norm() < 0.002
        angle, _ = (measured.M.Inverse() * goal.M).GetRotAngle()
        assert abs(angle) < 0.1
        for i in range(50):
            goal.p = initial.p + PyKDL.Vector(0.01 * (50 - i - 1) / 50, 0, 0)
            self.arm.servo_cp(goal)
            self.ral.create_rate(1.0 / self.expected_interval).sleep()
        assert self.arm.move_cp(initial).wait()
        assert (self.arm.measured_cp()[0].p - initial.p).Norm() < 0.002
        assert len(self.arm.measured_cv()[0]) == 6

    def kinematics(self):
        jp, _ = self.arm.measured_jp()
        cp = self.arm.local.forward_kinematics(jp)
        assert (cp.p - self.arm.local.measured_cp()[0].p).Norm() < 1e-3
        again, result, message = self.arm.inverse_kinematics(jp, cp, extra=True)
        assert result, message
        assert numpy.allclose(again, jp, atol=1e-6)
        _frame, result, message = self.arm.forward_kinematics(numpy.zeros(9), extra=True)
        assert not result
        assert "many" in message
        assert self.arm.body.jacobian()[0].shape == (6, 6)

    def efforts(self):
        self.arm.use_gravity_compensation(True)
        self.arm.body.servo_cf(numpy.zeros(6))
        time.sleep(0.1)
        wrench, _ = self.arm.body.measured_cf()
        assert wrench.shape == (6,)
        self.arm.servo_jf(numpy.zeros(6))
        time.sleep(0.05)
        self.arm.free()
        time.sleep(0.05)
        self.arm.hold()
        time.sleep(0.05)

    def jaw(self):
        assert self.arm.jaw.open(angle=math.radians(40.0)).wait()
        assert abs(self.arm.jaw.measured_jp()[0][0] - math.radians(40.0)) < 0.1
        self.arm.jaw.close().wait()
        self.arm.jaw.servo_jp(numpy.array([0.2]))
        time.sleep(0.3)
        assert abs(self.arm.jaw.setpoint_jp()[0][0] - 0.2) < 1e-6
        self.arm.insert_jp(0.1).wait()
        assert abs(self.arm.measured_jp()[0][2] - 0.1) < 0.005

    def ratio(self):
        self.arm.trajectory_j_set_ratio(0.5)
        time.sleep(0.05)
        assert self.arm.trajectory_j_get_ratio() == 0.5
        self.arm.trajectory_j_set_ratio(1.0)

    def states(self):
        assert self.arm.disable(5.0)
        assert self.arm.is_disabled()
        assert self.arm.enable(10.0)
        assert self.arm.home(10.0)

    def run(self):
        for part in ("home", "joints", "servo", "cartesian", "kinematics", "efforts", "jaw", "ratio", "states"):
            getattr(self, part)()
            print("passed:", part)


if __name__ == "__main__":
    argv = crtk.ral.parse_argv(sys.argv[1:])
    parser = argparse.ArgumentParser()
    parser.add_argument("-a", "--arm", required=True, choices=["PSM1", "PSM2", "PSM3"])
    parser.add_argument("-i", "--interval", type=float, default=0.01)
    args = parser.parse_args(argv)
    ral = crtk.ral("psm_application")
    ral.spin_and_execute(application(ral, args.arm, args.interval).run)
