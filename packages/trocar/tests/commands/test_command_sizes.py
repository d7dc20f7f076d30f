"""Commands that one can remember: few options, short functions, and help in panels."""

from __future__ import annotations

import inspect

import pytest
import typer.main
from typer.testing import CliRunner

from trocar.cli import _all_commands, app
from trocar.commands.command import PANELS, CommandEntry

COMMANDS = list(_all_commands())
MAX_OPTIONS, MAX_LINES = 14, 80


def ids(command: CommandEntry) -> str:
    return f"{command.group} {command.spelling}".strip()


@pytest.mark.parametrize("command", COMMANDS, ids=ids)
def test_a_command_has_few_options_and_a_short_function(command: CommandEntry) -> None:
    group = typer.main.get_command(app)
    names = ids(command).split()
    for name in names:
        group = group.commands[name]
    options = [parameter for parameter in group.params if parameter.param_type_name == "option"]
    assert len([option for option in options if option.name != "help"]) <= MAX_OPTIONS
    assert len(inspect.getsource(inspect.unwrap(command.run)).splitlines()) <= MAX_LINES
    assert "Example" in (command.run.__doc__ or "")


def test_the_panels_of_the_help_are_a_table_of_contents() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "100", "NO_COLOR": "1"}).stdout
    titles = [line.split("─")[1].strip() for line in shown.splitlines() if line.startswith("╭─")]
    assert titles == ["Options", *PANELS]
