"""All sections of the bench."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trocar.errors import check_known
from trocar.experiments.bilateral.bench.findings import Bench
from trocar.experiments.bilateral.bench.network import network
from trocar.experiments.bilateral.bench.stability import drift, engine, stability
from trocar.experiments.bilateral.bench.transparency import hybrid, schemes, stiffness, z_width

SECTIONS: dict[str, Callable[[Bench], None]] = {
    "stability": stability,
    "drift": drift,
    "stiffness": stiffness,
    "schemes": schemes,
    "network": network,
    "engine": engine,
    "z_width": z_width,
    "hybrid": hybrid,
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
