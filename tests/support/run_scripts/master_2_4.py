"""A script for release 2.4: a custom class for a PSM, pause and FAULT, and a master in effort control."""

import time

import crtk
import dvrk
import numpy as np
import PyKDL
import std_msgs.msg


class device:
    class part:
        def __init__(self, ral, features, states=None):
            self.utils = crtk.utils(self, ral, 5.0, states)
            for feature in features:
                getattr(self.utils, "add_" + feature)()

    def __init__(self, ral, name):
        self.ral = ral.create_child(name)
        self.utils = crtk.utils(self, self.ral, 5.0)
        for feature in (
            "operating_state",
            "setpoint_js",
            "measured_js",
            "setpoint_cp",
            "servo_jp",
            "move_jr",
            "move_cp",
        ):
            getattr(self.utils, "add_" + feature)()
        self.jaw = self.part(self.ral.create_child("jaw"), ("measured_js", "move_jp"), self)
        self.body = self.part(self.ral.create_child("body"), ("measured_cf", "jacobian"))
        self.tool, self.errors = "", []
        self.ral.subscriber("tool_type", std_msgs.msg.String, lambda msg: setattr(self, "tool", msg.data))
        self.ral.subscriber("error", std_msgs.msg.String, lambda msg: self.errors.append(msg.data))
        self.set_ratio = self.ral.publisher("trajectory_j/set_ratio", std_msgs.msg.Float64)


def run(ral, psm, mtm, clutch):
    ral.check_connections()
    assert psm.enable(10)
    assert psm.home(10)
    assert psm.jaw.move_jp(np.array([0.5])).wait()
    assert abs(psm.jaw.measured_js()[0][0] - 0.5) < 0.05
    psm.set_ratio.publish(std_msgs.msg.Float64(data=0.5))
    cp, _ = psm.setpoint_cp()
    assert psm.move_cp(PyKDL.Frame(cp.M, cp.p + PyKDL.Vector(0, 0, 0.005))).wait(timeout=10)
    assert psm.body.jacobian()[0].shape == (6, 6)
    psm.state_command("pause")
    assert psm.wait_for_operating_state("PAUSED", 1.0)
    psm.move_jr(np.full(6, 0.01))
    time.sleep(0.1)
    assert not psm.is_busy()
    psm.state_command("resume")
    assert psm.wait_for_operating_state("ENABLED", 1.0)
    goal, _ = psm.setpoint_jp()
    goal[2] -= 0.08  # more than the controller follows at once
    psm.servo_jp(goal)
    assert psm.wait_for_operating_state("FAULT", 1.0)
    assert psm.enable(5)
    assert psm.home(10)
    assert clutch.wait(5.0, 1)
    assert mtm.enable(10)
    assert mtm.home(20)
    mtm.servo_jf(np.zeros(7))
    time.sleep(0.1)
    q, _ = mtm.setpoint_jp()
    assert np.allclose(q, mtm.measured_jp()[0], atol=0.02)
    print("passed: 2.4", psm.tool, len(psm.errors))


if __name__ == "__main__":
    ral = crtk.ral("two_sides")
    arms = device(ral, "PSM1"), dvrk.mtm(ral, "MTMR")
    ral.spin_and_execute(run, ral, *arms, crtk.joystick_button(ral, "console/clutch"))
