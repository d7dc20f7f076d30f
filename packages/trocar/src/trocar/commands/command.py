"""A command of the command line, as trocar and other packages declare it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# Headings of `trocar --help`, in their order. A command under another heading is listed after these.
PANELS = ("Look", "Simulate", "Your robot", "Identify", "Learn", "Reproduce")


@dataclass(frozen=True, kw_only=True)
class CommandEntry:
    """A command: `trocar NAME`, or `trocar GROUP NAME`.

    Attributes:
        run: function with typer's annotations; its docstring is the help text, with an example.
        panel: heading in `trocar --help`, one of `PANELS` or a new one.
        group: command that it is a part of, such as "serve"; "" for none.
        name: default: the name of the function with hyphens.
        is_group: the function runs if no command of its group is named; other commands name it as their group.
        passes_arguments: everything after the first positional argument belongs to it, options included.
    """

    run: Callable[..., None]
    panel: str = ""
    group: str = ""
    name: str = ""
    is_group: bool = False
    passes_arguments: bool = False

    @property
    def spelling(self) -> str:
        """Name as it is typed."""
        return self.name or self.run.__name__.replace("_", "-")
