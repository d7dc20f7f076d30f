"""Records both versions of LeRobot with stereo films, and checks them and the packages for LeRobot with lerobot itself.

    python -m tools.lerobot_check build/lerobot-check build/lerobot/bin/python

The second environment has lerobot and trocar; see the target check-lerobot of the Makefile.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from trocar_learning.episodes import EpisodeRecipe, broken_rules, record

EPISODES, STEPS = 20, 300
DOMAIN = str(1 + os.getpid() % 80)  # of ROS 2


def main(output: Path, python: Path) -> int:
    """Exit status: 0 if lerobot loads, trains, converts, loads the policy for a score, and drives the robot."""
    for format in ("lerobot3", "lerobot2.1"):
        recipe = EpisodeRecipe(task="Reach", count=EPISODES, format=format, size=(640, 480))
        record(recipe, output / format)
        broken = broken_rules(output / format)
        print(f"{format}: {EPISODES} episodes, broken rules of Open-H: {broken or 'none'}", flush=True)
        if broken:
            return 1
    record(EpisodeRecipe(task="Reach", count=EPISODES, format="robomimic"), output / "robomimic")
    policy = output / "lerobot3-act"
    steps: list[tuple[Any, ...]] = [
        ("train.py", output / "lerobot3", STEPS),
        ("convert.py", output / "lerobot2.1"),
        ("score.py", "score", "Reach", "--policy", policy, "-n", 5),
        ("score.py", "record", policy, output / "of-policy"),
        ("envhub.py", policy),
        ("robomimic_rules.py", output / "robomimic" / "demonstrations.hdf5"),
        ("robot.py", "process", output / "robot"),
    ]
    for step in steps:
        if status := _run(python, *step):
            return status
    serve = [sys.executable, "-m", "trocar", "serve", "ros2", "--domain", DOMAIN]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            # the client waits 20 s for topics, which a start on a busy machine can exceed
            if not any(line.startswith("serving") for line in server.stdout):
                print("trocar serve ros2 ended before it served", file=sys.stderr)
                return 1
            return _run(python, "robot.py", "ros2", output / "robot-ros2", DOMAIN)
        finally:
            server.terminate()
            server.communicate()  # it prints a last line


def _run(python: Path, script: str, *arguments: object) -> int:
    command = [str(python), str(Path(__file__).with_name(script)), *map(str, arguments)]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
