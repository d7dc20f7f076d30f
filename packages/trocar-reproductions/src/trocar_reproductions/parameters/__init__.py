"""Parameter sets of publications that describe their simulator, not a robot."""

from pathlib import Path

FERRO2022_SCENE = Path(__file__).parent / "ferro2022_scene.toml"
