"""Runs in the environment of lerobot: reads a v2.1 data set with the functions of lerobot's own converter to v3.0.

python convert.py DIR
"""

# mypy: ignore-errors
import sys
from pathlib import Path

from train import stub_torchvision


def main():
    folder = Path(sys.argv[1])
    stub_torchvision()
    from lerobot.datasets.v30 import convert_dataset_v21_to_v30 as converter

    tasks, names = converter.legacy_load_tasks(folder)
    episodes = converter.legacy_load_episodes(folder)
    figures = converter.legacy_load_episodes_stats(folder)
    assert len(tasks) == len(names) == 1
    assert len(episodes) == len(figures)
    converter.validate_local_dataset_version(folder)
    target = folder.with_name("converted")
    converter.convert_info(folder, target, 100, 200)
    converter.convert_tasks(folder, target)
    data = converter.convert_data(folder, target, 100)
    assert sum(entry["dataset_to_index"] - entry["dataset_from_index"] for entry in data) == sum(
        entry["length"] for entry in episodes.values()
    )
    print(f"v2.1: lerobot's converter reads {len(episodes)} episodes and writes them as v3.0")


if __name__ == "__main__":
    main()
