"""Records both versions of LeRobot with stereo films, and checks them in the environment of lerobot.

python -m tools.lerobot_check build/lerobot-check build/lerobot/bin/python
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from trocar.episodes import EpisodeRecipe, broken_rules, record

EPISODES, STEPS = 6, 300


def main(output: Path, python: Path) -> int:
    """Exit status: 0 if lerobot loads v3.0, trains on it, and v2.1 converts to the same frames."""
    train = Path(__file__).with_name("train.py")
    for format in ("lerobot3", "lerobot2.1"):
        recipe = EpisodeRecipe(task="Reach", count=EPISODES, format=format, size=(640, 480))
        record(recipe, output / format)
        print(f"{format}: {EPISODES} episodes, broken rules of Open-H: {broken_rules(output / format) or 'none'}")
    status = subprocess.run([str(python), str(train), str(output / "lerobot3"), str(STEPS)], check=False).returncode
    convert = Path(__file__).with_name("convert.py")
    return status or subprocess.run([str(python), str(convert), str(output / "lerobot2.1")], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
