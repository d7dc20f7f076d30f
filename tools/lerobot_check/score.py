"""Runs in the environment of lerobot, with the stand-ins of `train`: scores or records a policy of LeRobot.

python score.py eval Reach --policy DIR -n 5          the command trocar
python score.py record DIR FOLDER                     in this process, because other ones have no stand-ins
"""

# mypy: ignore-errors
import sys

from train import stub_torchvision


def record_policy(policy, folder):
    from trocar_learning.episodes import EpisodeRecipe, load_episodes, record

    record(EpisodeRecipe(task="Reach", count=2, policy=policy, recovery=0.0), folder, executor="serial")
    print(f"recorded the policy: success {[episode.success for episode in load_episodes(folder)]}")


if __name__ == "__main__":
    stub_torchvision()
    if sys.argv[1] == "record":
        record_policy(*sys.argv[2:])
    else:
        from trocar.cli import app

        sys.argv[0] = "trocar"
        app()
