"""All commands of this package, under the headings of `trocar --help`."""

from trocar.commands.command import CommandEntry
from trocar_reproductions.commands.coppelia import coppelia, coppelia_robot
from trocar_reproductions.commands.ferro_task import ferro_task
from trocar_reproductions.commands.fetch import fetch
from trocar_reproductions.commands.reproduce import reproduce
from trocar_reproductions.commands.teleop_bench import bench

COMMANDS = (
    *(CommandEntry(run=function, panel="Reproduce") for function in (reproduce, fetch, ferro_task)),
    *(CommandEntry(run=function, group="serve") for function in (coppelia, coppelia_robot)),
    CommandEntry(run=bench, group="teleop"),
)
