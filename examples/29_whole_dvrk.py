"""A whole dVRK: three PSMs, the ECM and both masters under their controllers, with the speed of the simulation."""

import time

import numpy as np

from trocar.robot import Robot

np.set_printoptions(precision=3, suppress=True)

robot = Robot("dvrk")  # Classic; or dvrk_si
print("devices:", ", ".join(f"{name} ({kind})" for name, kind in robot.devices.items() if "/" not in name))
print(f"{len(robot.bus.topics)} topics, {len(robot.bus.services)} services")

arms = {name: robot.arm(name) for name in robot.arms}
robot.system().home()
robot.wait_for(lambda: all(arm.is_homed() for arm in arms.values()), timeout=20)
print(f"all homed at {robot.time:.2f} s")
for name, arm in arms.items():
    T, _ = arm.measured_cp()
    frame = robot.bus.read(f"{name}/measured_cp").frame_id
    print(f"{name}: tip at {T[:3, 3]} m in {frame}")

# Subscribe to a state topic (100 Hz), as a ROS node would.
count = []
subscription = robot.bus.subscribe("PSM1/measured_js", lambda message: count.append(message.stamp))
began, simulated = time.process_time(), robot.time
handles = [arm.move_jr(0.05 * np.eye(len(arm.measured_jp()[0]))[0]) for arm in arms.values()]
print("moved:", [handle.wait() for handle in handles])
robot.sleep(1.0 - (robot.time - simulated) % 1.0)
print(f"{len(count)} samples of PSM1/measured_js in {robot.time - simulated:.2f} s")
print(f"{(robot.time - simulated) / (time.process_time() - began):.1f} times real time, by processor time")
subscription.close()
