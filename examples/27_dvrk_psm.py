"""A PSM through the dVRK's interface: power on, home, move joints and tip, use the jaw. No ROS, no robot."""

import numpy as np

from trocar.robot import Robot

np.set_printoptions(precision=4, suppress=True)

robot = Robot("psm")  # one PSM under the dVRK's 1500 Hz controller; time passes while the script waits
robot.bus.subscribe("PSM/status", lambda message: print(f"  [{message.time:6.3f} s] {message.value}"))
robot.bus.subscribe("PSM/warning", lambda message: print(f"  [{message.time:6.3f} s] warning: {message.value}"))
psm = robot.psm("PSM")

psm.move_jp(np.zeros(6))  # refused: the arm is off
robot.sleep(0.01)
psm.enable(timeout=10)
psm.home(timeout=10)

q, t = psm.measured_jp()
print(f"at {t:.3f} s: joints {q} rad, m")
psm.move_jp(q + [0.3, -0.2, 0.03, 0.5, 0.2, -0.2]).wait()
p, v, f, t = psm.measured_js()
print(f"at {t:.3f} s: joints {p} rad, m; efforts {f} N m, N")

T = psm.setpoint_cp()[0].copy()
T[:3, 3] += [0.01, 0.0, -0.01]
psm.move_cp(T).wait()
print(f"tip {1e3 * (psm.measured_cp()[0] - T)[:3, 3]} mm from its goal, because of gravity and friction")

psm.jaw.open(np.radians(40)).wait()
psm.jaw.close().wait()
robot.sleep(0.3)
angle, effort = psm.jaw.measured_jp()[0][0], psm.jaw.measured_jf()[0][0]
print(f"jaw closed at {np.degrees(angle):.1f} deg, pressing with {effort:.3f} N m")

# A servo command is followed at once and stays in effect: a circle of 20 mm diameter at 100 Hz.
centre = psm.setpoint_cp()[0].copy()
errors = []
for k in range(100):
    goal = centre.copy()
    goal[:2, 3] += 0.01 * np.array([np.cos(0.0628 * k) - 1.0, np.sin(0.0628 * k)])
    psm.servo_cp(goal)
    robot.sleep(0.01)
    errors.append(np.linalg.norm((psm.measured_cp()[0] - goal)[:3, 3]))
print(f"circle of 10 mm radius in 1 s: RMS error {1e3 * np.sqrt(np.mean(np.square(errors))):.2f} mm")
