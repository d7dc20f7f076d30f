"""Identification of dynamic parameters from recordings of a robot.

    identified = identify(load_recording("one_results.csv", "PSM", as_recorded=True), "PSM")
    write_whole("mine.toml", identified_text(identified, "one_results.csv"))

`identify` fits a physically consistent set by the recipe of the arm (`load_recipe`). `recalibrate` refits only friction
and effort bias. `excite` searches for a motion that excites the parameters. `fit_gravity` fits gravity to static poses.
"""

from trocar.identification.excitation.search import Excitation, excite
from trocar.identification.identified_file import covariance, identified_text, recalibrated_text, residual_rms
from trocar.identification.pipeline import Identified, Recalibrated, identify, recalibrate
from trocar.identification.recipes.recipe import Recipe, load_recipe
from trocar.identification.si.gravity import GravityFit, fit_gravity
from trocar.identification.signals import Signals, prepare, relative_error

__all__ = [
    "Excitation",
    "GravityFit",
    "Identified",
    "Recalibrated",
    "Recipe",
    "Signals",
    "covariance",
    "excite",
    "fit_gravity",
    "identified_text",
    "identify",
    "load_recipe",
    "prepare",
    "recalibrate",
    "recalibrated_text",
    "relative_error",
    "residual_rms",
]
