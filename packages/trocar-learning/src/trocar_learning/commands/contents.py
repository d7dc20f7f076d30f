"""All commands of this package, under the headings of `trocar --help`."""

from trocar.commands.command import CommandEntry
from trocar_learning.commands.contest import contest
from trocar_learning.commands.convert import convert
from trocar_learning.commands.record import record
from trocar_learning.commands.replay import replay
from trocar_learning.commands.score import score
from trocar_learning.commands.teleop_record import record as teleop_record

COMMANDS = (
    *(CommandEntry(run=function, panel="Learn") for function in (score, record, replay, convert)),
    CommandEntry(run=contest, group="serve"),
    CommandEntry(run=teleop_record, group="teleop"),
)
