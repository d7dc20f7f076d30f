"""Export: a simulated arm as files for other programs (MJCF, URDF with SRDF, SDF, RViz), one folder per arm.

`write_model` writes the folder, `model_files` returns its contents.
"""

from trocar.simulation.export.folder import FORMATS, model_files, write_model

__all__ = ["FORMATS", "model_files", "write_model"]
