"""Runs a script for the dVRK against a robot in ROS 2, where no ROS is installed: the stand-ins on a DDS client.

`python -m tests.support.remote_script SCRIPT ARGS...`, in the domain ROS_DOMAIN_ID on the loopback device.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import MappingProxyType

from trocar.scripts.launcher import run_script
from trocar.scripts.session import Session
from trocar.transports.camera import CameraSettings
from trocar.transports.remote_bus import connect_ros2


def main(script: str, *arguments: str) -> int:
    """Exit status of the script."""
    with connect_ros2(None, "lo") as robot:
        images = {topic.name: topic for topic in CameraSettings("peg_transfer", compressed=False).topics}
        robot.topics = MappingProxyType({**robot.topics, **images})
        session = Session(robot, "2.4", fast=False)  # type: ignore[arg-type]
        try:
            return run_script(session, Path(script), arguments)
        finally:
            session.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
