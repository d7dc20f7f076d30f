"""A script for the dVRK's Python packages, unchanged from the robot: `trocar run examples/dvrk/up_and_open.py`.

It moves the tip of PSM1 by 10 mm, opens the jaw and prints the distance of the tip from its goal.
"""

import crtk
import dvrk
import PyKDL


def run(ral):
    psm = dvrk.psm(ral, "PSM1")
    ral.check_connections()
    if not (psm.enable(10) and psm.home(10)):
        raise SystemExit("PSM1 did not get ready")
    goal, _ = psm.setpoint_cp()
    goal.p += PyKDL.Vector(0.0, 0.01, 0.0)
    psm.move_cp(goal).wait()
    psm.jaw.open().wait()
    measured, _ = psm.measured_cp()
    print(f"{1000 * (measured.p - goal.p).Norm():.1f} mm from the goal")


ral = crtk.ral("up_and_open")
ral.spin_and_execute(run, ral)
