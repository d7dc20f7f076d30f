"""Bilateral control of a dynamic master and slave over a channel with delay.

from trocar_reproductions.bilateral import TimeDomainPassivity, contact_runs

log = contact_runs([0.002, 0.01], [1000.0], passivity=TimeDomainPassivity())   # delays [s], walls [N/m]
print(log.oscillation(), log.least_margin())                                  # [m], [J]
"""

from trocar.teleoperation.channel import Bursts, Channel, Exponentials, Outages, intermittent, netfi
from trocar.teleoperation.coupling import (
    DampingInjection,
    FourChannel,
    Passivity,
    PositionForce,
    PositionPosition,
    Scheme,
    TimeDomainPassivity,
    WaveVariables,
)
from trocar_reproductions.bilateral.arms import ContactTruth, MeasuredEffort, Observed, TipSensor
from trocar_reproductions.bilateral.bench import SECTIONS, Bench, run_bench
from trocar_reproductions.bilateral.laboratory import (
    HybridMatrix,
    contact_runs,
    hybrid_matrix,
    pair,
    press,
    wall_oscillation,
)
from trocar_reproductions.bilateral.operator import (
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
from trocar_reproductions.bilateral.teleoperated_pair import Pair, PairLog

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
