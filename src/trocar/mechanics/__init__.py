"""The equations: kinematics and dynamics of an arm in its independent joints, and of the cart that carries it."""

from trocar.mechanics.cart import Cart, load_cart
from trocar.mechanics.mechanism import Mechanism, load_mechanism
from trocar.mechanics.set_up import Placement

__all__ = ["Cart", "Mechanism", "Placement", "load_cart", "load_mechanism"]
