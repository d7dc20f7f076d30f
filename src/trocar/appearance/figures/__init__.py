"""Matplotlib figures of arms: links drawn as lines, workspace and manipulability."""

from trocar.appearance.figures.skeleton import draw, link_points
from trocar.appearance.figures.workspace import cloud_figure, manipulability_figure, shared_figure

__all__ = ["cloud_figure", "draw", "link_points", "manipulability_figure", "shared_figure"]
