"""Launch files that show a served robot in RViz, for ROS 1 and ROS 2; they use the topics of `trocar serve`."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from trocar.files import write_whole

FILES = ("rviz_ros1.launch", "ros1.rviz", "rviz_ros2.launch.py", "ros2.rviz")
HERE = Path(__file__).parent


def write_launch_files(folder: str | PathLike[str]) -> list[Path]:
    """Copy the launch files to a folder; returns their paths."""
    return [write_whole(Path(folder) / name, (HERE / name).read_bytes()) for name in FILES]
