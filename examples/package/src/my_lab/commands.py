"""`trocar reach-height`: a command of our own."""

from __future__ import annotations

from typing import Annotated

import typer

from trocar.commands.command import CommandEntry
from trocar.commands.options import ArmArgument, option
from trocar.commands.terminal import plain_errors


@plain_errors()
def reach_height(
    arm: ArmArgument = "PSM",
    samples: Annotated[int, option("N", "Random states within the joint limits.", min=1)] = 1000,
) -> None:
    """Print the lowest and the highest point that an arm's tip reaches.

    Example: [bold]trocar reach-height PSM --samples 5000[/bold]
    """
    import numpy as np  # heavy packages are imported when the command runs: `trocar --help` stays fast

    import trocar as tr

    mechanism = tr.load_mechanism(arm)
    q = np.random.default_rng(0).uniform(mechanism.arm.lower, mechanism.arm.upper, (samples, mechanism.n))
    z = mechanism.forward_kinematics(q)[:, 2, 3]
    typer.echo(f"{arm}: tip from {z.min():.3f} to {z.max():.3f} m in the axes of its base")


COMMANDS = (CommandEntry(run=reach_height, panel="My lab"),)
