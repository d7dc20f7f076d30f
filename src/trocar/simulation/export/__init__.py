"""Export: simulated arms and carts as files for other programs (MJCF, URDF with SRDF, SDF, RViz), one folder each.

`write_model` writes the folder, `model_files` returns its contents.
"""

from trocar.simulation.export.folder import FORMATS, model_files, model_name, write_model

__all__ = ["FORMATS", "model_files", "model_name", "write_model"]
