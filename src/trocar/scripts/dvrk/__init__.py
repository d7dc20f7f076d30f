"""A stand-in for the Python package dvrk, releases 2.0 to 2.4."""

from trocar.scripts.dvrk.any_arm import arm
from trocar.scripts.dvrk.devices import console, system, teleop_psm
from trocar.scripts.dvrk.endoscope import ecm
from trocar.scripts.dvrk.instrument import psm
from trocar.scripts.dvrk.master import mtm
from trocar.scripts.dvrk.set_up_joints import suj

__all__ = ["arm", "console", "ecm", "mtm", "psm", "suj", "system", "teleop_psm"]
