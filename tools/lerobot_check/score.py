"""Runs in the environment of lerobot: the command trocar with the stand-ins of `train`.

python score.py eval Reach --policy DIR -n 5
"""

# mypy: ignore-errors
import sys

from train import stub_torchvision

if __name__ == "__main__":
    stub_torchvision()
    sys.argv[0] = "trocar"
    from trocar.cli import app

    app()
