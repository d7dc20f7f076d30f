"""Relay from MoveIt to an arm: a FollowJointTrajectory goal becomes servo_jp commands.

python3 trajectory_relay.py [ECM]

MoveIt executes a plan through an action, FollowJointTrajectory. Neither the dVRK nor "trocar serve ros2" has actions:
this node does, and sends the positions of the trajectory as servo_jp at 200 Hz. The arm must be enabled and homed. The
relay does not compare measured positions with the trajectory: MoveIt's own monitor does. A canceled goal leaves the
arm at its last setpoint.
"""

import sys
import time
from bisect import bisect_right
from pathlib import Path

import rclpy
import yaml
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState

RATE = 200.0  # of servo_jp [Hz]
TOPICS = {"arm_controller": "servo_jp", "jaw_controller": "jaw/servo_jp"}


def seconds(duration):
    """A duration of ROS [s]."""
    return duration.sec + 1e-9 * duration.nanosec


def positions_at(t, points):
    """Positions [rad, m] of a trajectory at time t [s]: a cubic between points with velocities, otherwise a line."""
    times = [seconds(point.time_from_start) for point in points]
    i = bisect_right(times, t)
    if i == 0 or i == len(points):
        return list(points[min(i, len(points) - 1)].positions)
    a, b = points[i - 1], points[i]
    h = times[i] - times[i - 1]
    s = (t - times[i - 1]) / h
    if not (a.velocities and b.velocities):
        return [p + s * (q - p) for p, q in zip(a.positions, b.positions, strict=True)]
    rows = zip(a.positions, b.positions, a.velocities, b.velocities, strict=True)
    blend = s * s * (3.0 - 2.0 * s)
    return [p + blend * (q - p) + h * s * (1.0 - s) * ((1.0 - s) * v - s * w) for p, q, v, w in rows]


class TrajectoryRelay(Node):
    """An action server for each controller of moveit_controllers.yaml."""

    def __init__(self, arm):
        super().__init__("trajectory_relay")
        config = yaml.safe_load(Path(__file__).with_name("moveit_controllers.yaml").read_text())
        manager = config["moveit_simple_controller_manager"]
        group = ReentrantCallbackGroup()  # a goal can be canceled while it is executed
        self.servers = [
            ActionServer(
                self,
                FollowJointTrajectory,
                f"{name}/follow_joint_trajectory",
                execute_callback=self.executor_of(f"/{arm}/{TOPICS[name]}", manager[name]["joints"]),
                cancel_callback=lambda goal: CancelResponse.ACCEPT,
                callback_group=group,
            )
            for name in manager["controller_names"]
        ]

    def executor_of(self, topic, joints):
        """The callback that executes a goal for these joints on a topic."""
        publisher = self.create_publisher(JointState, topic, 10)

        def execute(goal):
            trajectory, result = goal.request.trajectory, FollowJointTrajectory.Result()
            if sorted(trajectory.joint_names) != sorted(joints) or not trajectory.points:
                result.error_code = result.INVALID_JOINTS
                goal.abort()
                return result
            order = [trajectory.joint_names.index(joint) for joint in joints]
            end, start, t = seconds(trajectory.points[-1].time_from_start), time.monotonic(), 0.0
            while t < end:
                if goal.is_cancel_requested:
                    goal.canceled()
                    return result
                t = min(time.monotonic() - start, end)
                positions = positions_at(t, trajectory.points)
                publisher.publish(JointState(name=joints, position=[positions[i] for i in order]))
                time.sleep(1.0 / RATE)
            goal.succeed()
            return result

        return execute


def main():
    rclpy.init()
    executor = MultiThreadedExecutor()
    executor.add_node(TrajectoryRelay(sys.argv[1] if len(sys.argv) > 1 else "ECM"))
    executor.spin()


if __name__ == "__main__":
    main()
