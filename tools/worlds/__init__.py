"""Figures of `SceneBatch` on a GPU: speed, agreement with the C engine, cost of parameters and resets.

`python -m tools.worlds.bundle FILE` writes the scenes where trocar is installed. `python -m tools.worlds.measure FILE`
needs MuJoCo, MuJoCo Warp and NumPy only.
"""
