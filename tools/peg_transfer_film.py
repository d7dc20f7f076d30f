"""Film of the peg transfer as its expert plays it, from the competition's left camera: docs/images/peg_transfer.gif.

    python -m tools.peg_transfer_film docs/images/peg_transfer.gif

Needs MuJoCo's renderer (MUJOCO_GL=egl without a display). It takes a minute.
"""

from __future__ import annotations

import sys

from trocar.appearance.films import Picture, render_video
from trocar_learning.envs import expert, make_task

SEED, DURATION = 0, 24.0  # of the film, in which both pegs are moved [s]
INTERVAL, FPS = 0.3, 10.0  # simulated time between two pictures [s]; three times real time
SIZE = (320, 200)  # [pixels]


def main() -> None:
    """Play the beginning of a trial and write the film."""
    env = make_task("PegTransfer")
    observation, _ = env.reset(seed=SEED)
    policy, pictures = expert(env), list[Picture]()
    while env.world.time < DURATION:
        if env.world.time >= INTERVAL * len(pictures) - 1e-9:
            pictures.append(env.picture(SIZE))
        observation, *_, info = env.step(policy(observation))
    print(f"{info['points']} points, {info['drops']} drops, {render_video(sys.argv[1], pictures, FPS)}")


if __name__ == "__main__":
    main()
