"""The README stays short, and the commands that it prints exist."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from trocar.cli import app
from trocar.commands.terminal import own_command

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = re.findall(r"^\|[^|]*\| `(\.venv/bin/[^`]+)` \|", README, re.MULTILINE)


def test_the_readme_has_at_most_a_hundred_lines():
    assert len(README.splitlines()) <= 100


def test_five_kinds_of_users_have_a_first_command():
    assert len(COMMANDS) == 5


@pytest.mark.parametrize("command", COMMANDS)
def test_a_first_command_is_complete(command):
    """Its script exists, and the command line accepts its options; the tests of each command run it."""
    program, *arguments = shlex.split(command)
    if program.endswith("/python"):
        (script,) = arguments
        assert (ROOT / script).is_file()
        return
    assert program == ".venv/bin/trocar"
    name, *arguments = arguments
    typer.main.get_command(app).commands[name].make_context(name, arguments)
    for argument in arguments:
        if argument.endswith(".py"):
            assert (ROOT / argument).is_file()


def test_make_demo_installs_what_the_first_commands_need():
    """The page and the reader of bags are extras, the environments a package."""
    packages = re.search(r"^DEMO_PACKAGES := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)[1]
    assert packages == "-e 'packages/trocar[view,bags]' -e packages/trocar-learning -e packages/trocar-reproductions"
    assert packages in README  # by hand, elsewhere


def test_the_demo_names_the_next_command_as_it_was_called(tmp_path, monkeypatch):
    program = tmp_path / ".venv" / "bin" / "trocar"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(program), "demo"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert own_command() == ".venv/bin/trocar"
    monkeypatch.setenv("PATH", str(program.parent))  # activated
    assert own_command() == "trocar"
