"""Calibrate the link lengths of an arm from motion capture of its links, and write a geometry file.

The bars of this PSM differ from the published ones by about a millimetre. The cameras see each marker with 0.2 mm of
noise and lose sight of each link for a tenth of the time.
"""

import numpy as np

import trocar as tr
from trocar.arms import Geometry, published
from trocar.calibration import calibrate, calibration_motion
from trocar.recording import Markers
from trocar.simulation.sensors.motion_capture import MotionCapture

base = published("PSM")["gondokaryono2019"]
true = {**base, "l_back": base["l_back"] + 0.0012, "l_bottom": base["l_bottom"] - 0.0009}
machine = tr.Mechanism(
    tr.load_arm("PSM", Geometry(name="mine", arm="PSM", frames="gondokaryono2019", lengths=true, source="made up"))
)

# Yaw, pitch and insertion swing in front of the cameras for 40 s.
t, q = calibration_motion(machine.arm, duration=40.0)
cameras = MotionCapture(machine.arm, noise=0.2e-3, occlusion=0.1)
units = [joint.unit for joint in machine.arm.joints]
cameras.of_motion(machine, t, q).save("markers.csv", units)

# The same as `trocar calibrate markers.csv -o mine.toml`.
found = calibrate(Markers.load("markers.csv"))
found.write("mine.toml")
print("length          true  calibrated   (sigma) [mm]")
for name in ("l_back", "l_bottom", "a_front"):
    numbers = 1e3 * np.array([true[name], found.geometry.lengths[name], found.lengths.sigma[name]])
    print(f"{name:10s} {numbers[0]:9.3f} {numbers[1]:11.3f}   ({numbers[2]:.3f})")

error = 1e3 * np.linalg.norm(found.rcm.post - cameras.T_camera_base[:3, 3])
print(f"RCM {error:.3f} mm from the true one, spread {1e3 * found.rcm.spread:.2f} mm RMS")

mine = tr.load_mechanism("PSM", "mine.toml")
print("gravity of my arm at home [N m, N]:", np.round(mine.gravity(mine.arm.home)[:3], 3))
