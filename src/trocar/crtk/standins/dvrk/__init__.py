"""A stand-in for the Python package dvrk, releases 2.0 to 2.4."""

from trocar.crtk.standins.dvrk.any_arm import arm
from trocar.crtk.standins.dvrk.devices import console, system, teleop_psm
from trocar.crtk.standins.dvrk.endoscope import ecm
from trocar.crtk.standins.dvrk.instrument import psm
from trocar.crtk.standins.dvrk.master import mtm
from trocar.crtk.standins.dvrk.set_up_joints import suj

__all__ = ["arm", "console", "ecm", "mtm", "psm", "suj", "system", "teleop_psm"]
