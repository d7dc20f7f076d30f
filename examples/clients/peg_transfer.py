"""A client of the ICRA 2026 peg transfer: finds the pegs in the stereo images and moves the left arm over the blue one.

It uses the competition's topics only, through crtk.ral, which is the same for all versions of ROS. In process:
`trocar run --scene peg_transfer examples/clients/peg_transfer.py`; over ROS 2: start `trocar serve
contest`, then run this file with ROS 2; or let `trocar score PegTransfer --client "python3 ..."` do both.
"""

import crtk
import numpy as np
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import CameraInfo, Image, JointState

RATE = 50  # of the commands [Hz]
STEP = 0.6e-3  # between two commands [m]
OVER = 0.03  # distance of the jaws from the peg, along the line of sight [m]


class Client:
    """Latest messages of the topics that this client reads."""

    def __init__(self, ral):
        self.ral, self.latest = ral, {}
        for topic, kind in {
            "stereo/left/image_raw": Image,
            "stereo/right/image_raw": Image,
            "stereo/right/camera_info": CameraInfo,
            "PSM2/measured_cp": PoseStamped,
        }.items():
            ral.subscriber(topic, kind, lambda message, topic=topic: self.latest.__setitem__(topic, message))
        self.servo_cp = ral.publisher("PSM2/servo_cp", PoseStamped)
        self.servo_jaw = ral.publisher("PSM2/jaw/servo_jp", JointState)

    def read(self, topic):
        """The last message of a topic; waits for the first."""
        rate = self.ral.create_rate(RATE)
        while topic not in self.latest:
            rate.sleep()
        return self.latest[topic]

    def centre(self, eye):
        """Pixel (2,) in the middle of the blue peg."""
        image = self.read(f"stereo/{eye}/image_raw")
        red, green, blue = (
            np.frombuffer(bytes(image.data), np.uint8).reshape(image.height, image.width, 3).astype(int).T
        )
        u, v = np.nonzero((blue > 90) & (blue > 2 * red) & (blue > 1.6 * green))
        if len(u) < 5:
            raise SystemExit("the blue peg is not in the picture")
        return np.array([u.mean(), v.mean()])

    def blue_peg(self):
        """Position (3,) of the blue peg in the left camera [m]."""
        left, right, info = self.centre("left"), self.centre("right"), self.read("stereo/right/camera_info")
        P = np.array(getattr(info, "p", None) or info.P).reshape(3, 4)  # p in ROS 2, P in ROS 1
        fx, fy, cx, cy, baseline = P[0, 0], P[1, 1], P[0, 2], P[1, 2], -P[0, 3] / P[0, 0]
        z = fx * baseline / (left[0] - right[0])
        return np.array([(left[0] - cx) * z / fx, (left[1] - cy) * z / fy, z])

    def run(self):
        peg = self.blue_peg()
        print(f"blue peg at {np.round(1e3 * peg, 1).tolist()} mm in the left camera")
        goal, command = peg * (1.0 - OVER / np.linalg.norm(peg)), self.read("PSM2/measured_cp")
        place, rate = command.pose.position, self.ral.create_rate(RATE)
        here = np.array([place.x, place.y, place.z])
        for k in range(1, steps := int(np.linalg.norm(goal - here) / STEP) + 1):
            place.x, place.y, place.z = (here + k / (steps - 1) * (goal - here)).tolist()
            self.servo_cp.publish(command)
            self.servo_jaw.publish(JointState(position=[0.8]))
            rate.sleep()
        for _ in range(RATE // 2):
            rate.sleep()
        place = self.read("PSM2/measured_cp").pose.position
        missed = np.linalg.norm(np.array([place.x, place.y, place.z]) - goal)
        print(f"PSM2 is {1e3 * missed:.1f} mm from its goal, {1e3 * OVER:.0f} mm from the peg")


if __name__ == "__main__":
    node = crtk.ral("peg_transfer_client")
    node.spin_and_execute(Client(node).run)
