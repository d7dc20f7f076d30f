"""Export: simulated arms and carts as files for other programs (MJCF, URDF, SRDF, SDF, RViz, MoveIt, AMBF).

`write_model` writes the folder, `model_files` returns its contents.
"""

from trocar.simulation.export.folder import DEFAULT_FORMATS, FORMATS, model_files, model_name, write_model

__all__ = ["DEFAULT_FORMATS", "FORMATS", "model_files", "model_name", "write_model"]
