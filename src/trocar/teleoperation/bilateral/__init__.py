"""Bilateral control of a dynamic master and slave over a channel with delay.

from trocar.teleoperation.bilateral import TimeDomainPassivity, contact_runs

log = contact_runs([0.002, 0.01], [1000.0], passivity=TimeDomainPassivity())   # delays [s], walls [N/m]
print(log.oscillation(), log.least_margin())                                  # [m], [J]
"""

from trocar.teleoperation.bilateral.channel import Bursts, Channel, Exponentials, Outages
from trocar.teleoperation.bilateral.force_sources import ContactTruth, MeasuredEffort, Observed, TipSensor
from trocar.teleoperation.bilateral.intentions import Reaches, Replay, Sinusoids, jigsaws_master, recorded_master
from trocar.teleoperation.bilateral.laboratory import contact_runs, pair, press
from trocar.teleoperation.bilateral.network_presets import intermittent, netfi
from trocar.teleoperation.bilateral.operator import GRIPS, ForeArm, Grip, Operator
from trocar.teleoperation.bilateral.pair_log import PairLog
from trocar.teleoperation.bilateral.passivity import (
    DampingInjection,
    Passivity,
    TimeDomainPassivity,
    WaveVariables,
)
from trocar.teleoperation.bilateral.schemes import FourChannel, PositionForce, PositionPosition, Scheme
from trocar.teleoperation.bilateral.teleoperated_pair import Pair
from trocar.teleoperation.bilateral.transmitted_impedance import HybridMatrix, hybrid_matrix
from trocar.teleoperation.bilateral.z_width import wall_oscillation

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
