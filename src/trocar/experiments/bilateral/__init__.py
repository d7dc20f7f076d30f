"""Bilateral control of a dynamic master and slave over a channel with delay.

from trocar.experiments.bilateral import TimeDomainPassivity, contact_runs

log = contact_runs([0.002, 0.01], [1000.0], passivity=TimeDomainPassivity())   # delays [s], walls [N/m]
print(log.oscillation(), log.least_margin())                                  # [m], [J]
"""

from trocar.experiments.bilateral.force_sources import ContactTruth, MeasuredEffort, Observed, TipSensor
from trocar.experiments.bilateral.intentions import Reaches, Replay, Sinusoids, jigsaws_master, recorded_master
from trocar.experiments.bilateral.laboratory import contact_runs, pair, press
from trocar.experiments.bilateral.operator import GRIPS, ForeArm, Grip, Operator
from trocar.experiments.bilateral.pair_log import PairLog
from trocar.experiments.bilateral.passivity import (
    DampingInjection,
    Passivity,
    TimeDomainPassivity,
    WaveVariables,
)
from trocar.experiments.bilateral.schemes import FourChannel, PositionForce, PositionPosition, Scheme
from trocar.experiments.bilateral.teleoperated_pair import Pair
from trocar.experiments.bilateral.transmitted_impedance import HybridMatrix, hybrid_matrix
from trocar.experiments.bilateral.z_width import wall_oscillation
from trocar.teleoperation.channel import Bursts, Channel, Exponentials, Outages
from trocar.teleoperation.network_presets import intermittent, netfi

__all__ = [
    "GRIPS",
    "Bursts",
    "Channel",
    "ContactTruth",
    "DampingInjection",
    "Exponentials",
    "ForeArm",
    "FourChannel",
    "Grip",
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
    "Replay",
    "Scheme",
    "Sinusoids",
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
    "wall_oscillation",
]
