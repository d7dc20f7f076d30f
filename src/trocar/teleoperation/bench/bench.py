"""All sections of the bench, and the claims of other parts of teleoperation."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence

from trocar import teleoperation
from trocar.errors import check_known
from trocar.teleoperation.bench.findings import Bench
from trocar.teleoperation.bench.network import network
from trocar.teleoperation.bench.stability import drift, engine, stability
from trocar.teleoperation.bench.transparency import hybrid, schemes, stiffness, z_width

PREFIX = "claims_"


def _others() -> dict[str, Callable[[Bench], None]]:
    """Sections of modules `trocar.teleoperation.claims_NAME` with a function `NAME_claims() -> list[Claim]`."""
    names = [found.name for found in pkgutil.iter_modules(teleoperation.__path__) if found.name.startswith(PREFIX)]
    return {name.removeprefix(PREFIX): _section(name) for name in names}


def _section(module: str) -> Callable[[Bench], None]:
    def run(bench: Bench) -> None:
        loaded = importlib.import_module(f"trocar.teleoperation.{module}")
        bench.report.add_claims(getattr(loaded, f"{module.removeprefix(PREFIX)}_claims")())

    return run


SECTIONS: dict[str, Callable[[Bench], None]] = {
    "stability": stability,
    "drift": drift,
    "stiffness": stiffness,
    "schemes": schemes,
    "network": network,
    "engine": engine,
    "z_width": z_width,
    "hybrid": hybrid,
    **_others(),
}


def run_bench(names: Sequence[str] = (), bench: Bench | None = None, *, quick: bool = False) -> Bench:
    """Run sections of the bench.

    Args:
        names: sections. Default: all. bench: receives the results, even if a section fails. Default: a new one.
        quick: coarser maps, for a new bench.
    """
    check_known("section of the bench", SECTIONS, *names)
    bench = bench if bench is not None else Bench(quick=quick)
    for name in names or SECTIONS:
        bench.show(name)
        SECTIONS[name](bench)
    return bench
