"""A stand-in for PyKDL's vectors, rotations, frames, twists and wrenches, with numpy inside.

It has the names, results and printed form of PyKDL 1.5 (a test compares them); chains, trees and solvers are omitted.
As in PyKDL, `frame.p` and `frame.M` are live references when read and copies when assigned.
"""

from trocar.scripts.pykdl.frame import Frame
from trocar.scripts.pykdl.operations import Equal, SetToZero, addDelta, diff, dot
from trocar.scripts.pykdl.rotation import Rotation
from trocar.scripts.pykdl.screws import Twist, Wrench
from trocar.scripts.pykdl.vector import Vector

__all__ = ["Equal", "Frame", "Rotation", "SetToZero", "Twist", "Vector", "Wrench", "addDelta", "diff", "dot"]


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(
        f"PyKDL.{name} is not offered by trocar run, which stands in for {', '.join(__all__)}; "
        "for kinematics use arm.forward_kinematics, arm.inverse_kinematics or trocar.load_mechanism"
    )
