"""The command line. Commands import heavy packages lazily to keep `trocar --help` fast."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from trocar.commands.command import PANELS, CommandEntry
from trocar.commands.contents import COMMANDS
from trocar.errors import TrocarError
from trocar.plugins import names, plugin

# Packages of this project that add commands, named in the error if they are not installed.
PACKAGES = {
    "trocar-learning": ("score", "record", "replay", "convert", "teleop record", "serve contest"),
    "trocar-reproductions": (
        "reproduce",
        "fetch",
        "ferro-task",
        "teleop bench",
        "serve coppelia",
        "serve coppelia-robot",
    ),
}


class _PlainFlags:
    """Help in which flags, which take no value, have no type."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of a command
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
        return parameters


class PlainCommand(_PlainFlags, TyperCommand):
    """A command of trocar."""


class PlainGroup(_PlainFlags, TyperGroup):
    """A group of commands that knows in which package a missing one is."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        spelling = " ".join([*ctx.command_path.split()[1:], *args[:1]])
        if args and self.get_command(ctx, args[0]) is None and (package := missing_package(spelling)):
            where = f"trocar {spelling} is in {package}, which is not installed: pip install {package}"
            typer.echo(f"error: {where}", err=True)
            raise typer.Exit(2)
        return super().resolve_command(ctx, args)


def missing_package(spelling: str) -> str | None:
    """The package of this project that has a command."""
    return next((package for package, commands in PACKAGES.items() if spelling in commands), None)


SETTINGS: Any = {
    "cls": PlainGroup,
    "no_args_is_help": True,
    "add_completion": False,
    "rich_markup_mode": "rich",
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"trocar {version('trocar')}")
        raise typer.Exit


def main(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """A dynamic simulator of the da Vinci Research Kit (dVRK).

    Start with [bold]trocar demo[/bold]. Every command's help shows an example: [bold]trocar sim --help[/bold].
    """


def application() -> typer.Typer:
    """The command line with the commands of all installed packages."""
    app = typer.Typer(name="trocar", **SETTINGS)
    app.callback()(main)
    commands = sorted(_all_commands(), key=lambda command: _place(command.panel))
    groups = {"": app}
    for command in commands:
        if command.is_group:
            group = typer.Typer(**{**SETTINGS, "no_args_is_help": False})
            group.callback(invoke_without_command=True)(command.run)
            app.add_typer(group, name=command.spelling, rich_help_panel=command.panel, help=_help(command))
            groups[command.spelling] = group
    for command in commands:
        if not command.is_group:
            settings = {"allow_interspersed_args": False} if command.passes_arguments else None
            groups[command.group].command(
                command.spelling,
                cls=PlainCommand,
                rich_help_panel=command.panel or None,
                help=_help(command),
                context_settings=settings,
            )(command.run)
    return app


def _all_commands() -> Iterator[CommandEntry]:
    """Commands of trocar, then of other packages; one that cannot be loaded is reported and left out."""
    yield from COMMANDS
    for name in names("trocar.commands"):
        try:
            yield from plugin("trocar.commands", name)
        except TrocarError as error:
            typer.echo(f"warning: {error}", err=True)


def _place(panel: str) -> int:
    return PANELS.index(panel) if panel in PANELS else len(PANELS)


def _help(command: CommandEntry) -> str:
    """The docstring with one line per paragraph, for the terminal to wrap; commands in a list keep their lines."""
    text = inspect.getdoc(command.run) or ""
    return re.sub(r"(?<!\n)\n(?!\n|(?<=[;,:]\n)\[bold\])", " ", inspect.cleandoc(text))


app = application()
