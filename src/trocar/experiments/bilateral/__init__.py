"""Bilateral control of a dynamic master and slave over a channel with delay.

from trocar.experiments.bilateral import TimeDomainPassivity, contact_runs

log = contact_runs([0.002, 0.01], [1000.0], passivity=TimeDomainPassivity())   # delays [s], walls [N/m]
print(log.oscillation(), log.least_margin())                                  # [m], [J]
"""

from collections.abc import Callable, Sequence

from trocar.errors import check_known
from trocar.experiments.bilateral.bench import Bench
from trocar.experiments.bilateral.coupling_schemes import FourChannel, PositionForce, PositionPosition, Scheme
from trocar.experiments.bilateral.force_sources import ContactTruth, MeasuredEffort, Observed, TipSensor
from trocar.experiments.bilateral.laboratory import (
    HybridMatrix,
    contact_runs,
    hybrid_matrix,
    pair,
    press,
    wall_oscillation,
)
from trocar.experiments.bilateral.network_bench import network
from trocar.experiments.bilateral.operator import (
    GRIPS,
    ForeArm,
    GripImpedance,
    Operator,
    Reaches,
    RecordedPath,
    SinusoidalPaths,
    jigsaws_master,
    recorded_master,
)
from trocar.experiments.bilateral.pair_log import PairLog
from trocar.experiments.bilateral.passivity import (
    DampingInjection,
    Passivity,
    TimeDomainPassivity,
    WaveVariables,
)
from trocar.experiments.bilateral.stability_bench import drift, engine, stability
from trocar.experiments.bilateral.teleoperated_pair import Pair
from trocar.experiments.bilateral.transparency_bench import hybrid, schemes, stiffness, z_width
from trocar.teleoperation.channel import Bursts, Channel, Exponentials, Outages, intermittent, netfi

SECTIONS: dict[str, Callable[[Bench], None]] = {
    section.__name__: section for section in (stability, drift, stiffness, schemes, network, engine, z_width, hybrid)
}


def run_bench(names: Sequence[str] = (), bench: Bench | None = None, *, quick: bool = False) -> Bench:
    """Run sections of the bench: `trocar teleop --bench`.

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


__all__ = [
    "GRIPS",
    "SECTIONS",
    "Bench",
    "Bursts",
    "Channel",
    "ContactTruth",
    "DampingInjection",
    "Exponentials",
    "ForeArm",
    "FourChannel",
    "GripImpedance",
    "HybridMatrix",
    "MeasuredEffort",
    "Observed",
    "Operator",
    "Outages",
    "Pair",
    "PairLog",
    "Passivity",
    "PositionForce",
    "PositionPosition",
    "Reaches",
    "RecordedPath",
    "Scheme",
    "SinusoidalPaths",
    "TimeDomainPassivity",
    "TipSensor",
    "WaveVariables",
    "contact_runs",
    "hybrid_matrix",
    "intermittent",
    "jigsaws_master",
    "netfi",
    "pair",
    "press",
    "recorded_master",
    "run_bench",
    "wall_oscillation",
]
