"""Mechanics: the equations of an arm in its independent joints, and of the cart that carries it.

`load_mechanism` returns a `Mechanism` (kinematics, dynamics, friction, regressor); `load_cart` a `Cart` with the
`Placement` of its arms. `Workspace`, `singularity`, `manipulability` and the others here analyse a mechanism.
"""

from trocar.mechanics.cable_wrist import CableWrist, WristState
from trocar.mechanics.cart import Cart, Placement, load_cart
from trocar.mechanics.loading import ArmOptions, load_mechanism
from trocar.mechanics.mechanism import Mechanism
from trocar.mechanics.singularities import condition_number, manipulability, singular_sets, singularity
from trocar.mechanics.static_friction import friction_share, presliding
from trocar.mechanics.tree_arrays import TreeArrays
from trocar.mechanics.workspace import Workspace, shared_volume

__all__ = [
    "ArmOptions",
    "CableWrist",
    "Cart",
    "Mechanism",
    "Placement",
    "TreeArrays",
    "Workspace",
    "WristState",
    "condition_number",
    "friction_share",
    "load_cart",
    "load_mechanism",
    "manipulability",
    "presliding",
    "shared_volume",
    "singular_sets",
    "singularity",
]
