"""The equations: kinematics and dynamics of an arm in its independent joints."""

from trocar.mechanics.mechanism import Mechanism, load_mechanism

__all__ = ["Mechanism", "load_mechanism"]
