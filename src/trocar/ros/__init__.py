"""The dVRK's topics and services in ROS 1, with Debian's rospy.

    with Robot("dvrk", speed="real") as robot, Bridge(robot) as bridge:
        bridge.wait()

    with Client("http://127.0.0.1:11311") as client:
        print(client.read("PSM1/measured_js"))

rospy runs in a separate process: otherwise it would share the interpreter lock with the 1500 Hz control loop.

- `bridge` is the side of the simulation, `node` the rospy process. `packages` makes the classes of crtk_msgs and
  cisst_msgs for it; `limits` bounds what it accepts from others.
- `client` and `client_node` are the other direction: a robot in ROS as a bus. `shadow` lets a twin follow its arm.
- `bags` records a simulated robot to bags, and replays their servo commands.

ROS 1 and ROS 2 (`dds`) share the rest. `topic_bridge` carries out commands and calls, `sampling` takes samples of
topics with readers and stamps them, `priority` asks for real-time priority. `remote_bus` is the common part of
clients. `link` and `protocol` are the values that processes exchange over pipes. `scene_topics` and `scene_messages`
are /tf, /joint_states, /clock and the model, `camera` renders images in a third process, `devices` finds the devices
among topics.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trocar.ros.bridge import Bridge
    from trocar.ros.camera import CameraSettings
    from trocar.ros.client import Client
    from trocar.ros.scene_topics import write_description

__all__ = ["Bridge", "CameraSettings", "Client", "write_description"]

# Imported on first use: the rospy process needs none of them.
_HOME = {"Bridge": "bridge", "CameraSettings": "camera", "Client": "client", "write_description": "scene_topics"}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'trocar.ros' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"trocar.ros.{_HOME[name]}"), name)
    return found
