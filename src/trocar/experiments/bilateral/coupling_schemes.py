"""Bilateral schemes: the force on the master and the target of the slave, from the received packets."""

from __future__ import annotations

from dataclasses import dataclass

from trocar.experiments.bilateral.lines import Packet
from trocar.spatial import Array


@dataclass(frozen=True)
class Scheme:
    """Unilateral control: the slave follows, the master feels nothing.

        x_s,d = x_m(t - T),   F_m = 0

    All values are in the scale of the master, see `Packet`. A scheme is a pure function of the packets.
    """

    name = "none"

    def master_force(self, here: Packet, remote: Packet) -> Array:
        """Force (3, N) of the scheme on the master's grip [N]."""
        return 0.0 * here.x

    def slave_force(self, here: Packet, target: Array, rate: Array) -> Array:
        """Force (3, N) at the slave's port of the channel [N], with the target at `target`, moving at `rate`."""
        return here.f

    def feed_forward(self, remote: Packet) -> Array:
        """Force (3, N) of the slave in addition to its position control [N]."""
        return 0.0 * remote.f


@dataclass(frozen=True)
class PositionForce(Scheme):
    """Position forwards, environment force back: F_m = kf f_e(t - T).

    Without delay the felt stiffness is kf s k_e, in series with the slave's own. kf = s preserves power, kf = 1 / s
    preserves stiffness.
    """

    name = "position-force"

    def master_force(self, here: Packet, remote: Packet) -> Array:
        return remote.f


@dataclass(frozen=True)
class PositionPosition(Scheme):
    """Positions both ways: F_m = K (x_s(t - T) - x_m) + B (v_s(t - T) - v_m).

    It requires no force sensor. The master feels the slave's drag and lag in free motion, and at most K in contact.

    Attributes:
        K: [N/m]. B: [N s/m].
    """

    K: float = 300.0
    B: float = 5.0
    name = "position-position"

    def master_force(self, here: Packet, remote: Packet) -> Array:
        return self.K * (remote.x - here.x) + self.B * (remote.v - here.v)

    def slave_force(self, here: Packet, target: Array, rate: Array) -> Array:
        return self.K * (here.x - target) + self.B * (here.v - rate)


@dataclass(frozen=True)
class FourChannel(Scheme):
    """Positions and forces both ways (Lawrence 1993), with C5 = C6 = 0 and so C2 = C3 = 1.

        F_m = C2 f_e(t - T) + K (x_s(t - T) - x_m) + B (v_s(t - T) - v_m)
        slave: position control towards x_m(t - T), plus C3 f_h(t - T)

    The ideal C1 and C4 include the arms' inertias; without measured accelerations only their stiffness and damping
    parts are left, which are the gains of the position controllers.

    Attributes:
        K: [N/m]. B: [N s/m]. C2, C3: fractions of the transmitted forces.
    """

    K: float = 300.0
    B: float = 5.0
    C2: float = 1.0
    C3: float = 1.0
    name = "four-channel"

    def master_force(self, here: Packet, remote: Packet) -> Array:
        return self.C2 * remote.f + self.K * (remote.x - here.x) + self.B * (remote.v - here.v)

    def feed_forward(self, remote: Packet) -> Array:
        return self.C3 * remote.f


SCHEMES = {scheme.name: scheme for scheme in (Scheme, PositionPosition, PositionForce, FourChannel)}
