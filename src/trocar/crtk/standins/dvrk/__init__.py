"""A stand-in for the Python package dvrk, releases 2.0 to 2.4."""

from trocar.crtk.standins.dvrk.arm import arm
from trocar.crtk.standins.dvrk.console import console, system, teleop_psm
from trocar.crtk.standins.dvrk.ecm import ecm
from trocar.crtk.standins.dvrk.mtm import mtm
from trocar.crtk.standins.dvrk.psm import psm
from trocar.crtk.standins.dvrk.suj import suj

__all__ = ["arm", "console", "ecm", "mtm", "psm", "suj", "system", "teleop_psm"]
