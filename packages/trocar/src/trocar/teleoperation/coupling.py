"""Bilateral coupling: schemes (force on the master, target of the slave), and passivity control of a delayed channel.

F is the force on the master's grip, f that of the environment on the slave, so -F dx enters the channel at the master
and f dx at the slave. All values are in the scale of the master, see `Packet`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trocar.spatial import Array

TINY = 1e-12  # keeps quotients finite; relevant squares of forces [N^2] and velocities [m^2/s^2] are larger
MAX_CORRECTION = 0.3  # largest speed of a correction of the target, in the scale of the master [m/s]


class Packet(NamedTuple):
    """One packet of one side, in the scale of the master.

    Lengths of the slave are divided by the scale s and its forces multiplied by the force gain kf, so that both sides
    use the same units and energy is that of the master.

    Attributes:
        x: (3, N) displacement from the origin [m]. v: (3, N) [m/s].
        f: (3, N) force [N]: of the hand on the master's grip, or of the environment on the slave's tip.
        wave: (3, N) outgoing wave [sqrt(W)]. E: (N,) energy that has entered the channel here [J].
    """

    x: Array
    v: Array
    f: Array
    wave: Array
    E: Array


# -- schemes -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Scheme:
    """A pure function of the packets; with zero gains unilateral: the slave follows, the master feels nothing.

        F_m = C2 f_e(t - T) + K (x_s(t - T) - x_m) + B (v_s(t - T) - v_m)
        slave: position control towards x_m(t - T), plus C3 f_h(t - T)

    Attributes:
        K: [N/m]. B: [N s/m]. C2, C3: fractions of the transmitted forces.
    """

    K: float = 0.0
    B: float = 0.0
    C2: float = 0.0
    C3: float = 0.0
    name = "none"

    def master_force(self, here: Packet, remote: Packet) -> Array:
        """Force (3, N) of the scheme on the master's grip [N]."""
        return self.C2 * remote.f + self.K * (remote.x - here.x) + self.B * (remote.v - here.v)

    def slave_force(self, here: Packet, target: Array, rate: Array) -> Array:
        """Force (3, N) at the slave's port of the channel [N], with the target at `target`, moving at `rate`."""
        spring_only = self.K and not self.C2
        return self.K * (here.x - target) + self.B * (here.v - rate) if spring_only else here.f

    def feed_forward(self, remote: Packet) -> Array:
        """Force (3, N) of the slave in addition to its position control [N]."""
        return self.C3 * remote.f


@dataclass(frozen=True)
class PositionForce(Scheme):
    """Position forwards, environment force back: F_m = kf f_e(t - T).

    Without delay the felt stiffness is kf s k_e, in series with the slave's own. kf = s preserves power, kf = 1 / s
    preserves stiffness.
    """

    C2: float = 1.0
    name = "position-force"


@dataclass(frozen=True)
class PositionPosition(Scheme):
    """Positions both ways, which requires no force sensor.

    The master feels the slave's drag and lag in free motion, and at most K in contact.
    """

    K: float = 300.0
    B: float = 5.0
    name = "position-position"


@dataclass(frozen=True)
class FourChannel(Scheme):
    """Positions and forces both ways (Lawrence 1993), with C5 = C6 = 0 and so C2 = C3 = 1.

    The ideal C1 and C4 include the arms' inertias; without measured accelerations only their stiffness and damping
    parts are left, which are the gains of the position controllers.
    """

    K: float = 300.0
    B: float = 5.0
    C2: float = 1.0
    C3: float = 1.0
    name = "four-channel"


SCHEMES = {scheme.name: scheme for scheme in (Scheme, PositionPosition, PositionForce, FourChannel)}


# -- passivity control ---------------------------------------------------------------------------------------------
def dot(a: Array, b: Array) -> Array:
    """Scalar products (N,) of vectors (3, N)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


class EnergyObserver:
    """Energy that crossed one port of the channel, split by direction (Ryu et al. 2010).

        E_in = sum max(dE, 0),   E_out = sum max(-dE, 0),   dE = energy given to the channel in one step

    The sum E_in - E_out ignores the delay: energy that enters at one side can leave at the other side only a delay
    later. So each side sends its E_in, and compares the energy that left here with the energy that had entered at the
    other side at sending time:

        W(t) = E_in,other(t - T) - E_out(t) + E_dissipated(t)  >= 0  on both sides: the channel is passive.

    Attributes:
        E_in, E_out, dissipated: (N,) [J].
    """

    def __init__(self, N: int) -> None:
        self.E_in, self.E_out, self.dissipated = (np.zeros(N) for _ in range(3))

    def add(self, dE: Array, dissipated: Array | float = 0.0) -> None:
        """Add the energy that entered the channel in one step, and the energy dissipated at this port (N,) [J]."""
        into = np.maximum(dE, 0.0)
        self.E_in = self.E_in + into
        self.E_out = self.E_out + (into - dE)
        self.dissipated = self.dissipated + dissipated

    def margin(self, E_other: Array) -> Array:
        """W (N,) [J], from the E_in sent by the other side."""
        return np.asarray(E_other - self.E_out + self.dissipated)


class Passivity:
    """No passivity control: energy is observed at both ports, but nothing is changed.

    Attributes:
        master, slave: the observers of the two ports. margins: W of both, (N,) [J].
        waves: outgoing waves of master and slave (3, N) each.
        target: commanded position (3, N) of the slave [m].
    """

    name = "none"

    def start(self, N: int, dt: float) -> None:
        """Reset for N cells with time step dt [s]."""
        self.dt = dt
        self.master, self.slave = EnergyObserver(N), EnergyObserver(N)
        zero = np.zeros((3, N))
        self.waves, self.margins = (zero, zero), (np.zeros(N), np.zeros(N))
        self.target, self._asked, self._x = zero, zero, zero
        self._force, self._correction = zero, zero

    def at_master(self, F: Array, here: Packet, remote: Packet) -> Array:
        """Force (3, N) on the grip [N], from the scheme's force."""
        dx = here.x - self._x
        self.master.add(-dot(self._force, dx), -dot(self._correction, dx))
        self._x = here.x
        W = self.master.margin(remote.E)
        self.margins = (W, self.margins[1])
        self._force, self._correction = self._master_forces(F, W, here, remote)
        return self._force + self._correction

    def at_slave(self, x: Array, f: Array, remote: Packet, following: Array | bool = True) -> tuple[Array, Array]:
        """Target (3, N) of the slave and its velocity [m, m/s], from the target of the scheme and the force f.

        following: (N,); the target of a holding slave does not move.
        """
        asked = self._asked_step(x, f, remote) * following
        self._asked = x
        W = self.slave.margin(remote.E)
        self.margins = (self.margins[0], W)
        W = W + np.minimum(dot(f, asked), 0.0)
        change = self._slave_change(x, asked, W, f) * following
        self.slave.add(dot(f, asked), dot(f, change))
        step = asked + change
        self.target = self.target + step
        return self.target, step / self.dt

    def _master_forces(self, F: Array, W: Array, here: Packet, remote: Packet) -> tuple[Array, Array]:
        """The force transmitted by the channel and the added dissipative force, for the margin W (N,) [J]."""
        return F, 0.0 * F

    def _asked_step(self, x: Array, f: Array, remote: Packet) -> Array:
        """Step (3, N) of the target received through the channel [m]."""
        return x - self._asked

    def _slave_change(self, x: Array, asked: Array, W: Array, f: Array) -> Array:
        """Change (3, N) of that step [m], for the margin W (N,) [J] that would remain after it."""
        return np.zeros_like(x)


class DampingInjection(Passivity):
    """Constant damping at the master: F - B v_m.

    Position-position control with delay T is stable if 4 B_m B_s > (T_m^2 + T_s^2) K_m K_s (Nuno et al. 2008): the
    damping grows with the delay, and the operator also feels it in free motion.

    Args:
        B: [N s/m].
    """

    name = "damping"

    def __init__(self, B: float = 20.0) -> None:
        self.B = B

    def _master_forces(self, F: Array, W: Array, here: Packet, remote: Packet) -> tuple[Array, Array]:
        return F, -self.B * here.v


class WaveVariables(Passivity):
    """The channel transmits waves instead of power variables (Niemeyer, Slotine 2004).

        u = (b v + f) / sqrt(2 b),   w = (b v - f) / sqrt(2 b),   f v = (u^2 - w^2) / 2

    A delayed wave stores energy and generates none, for any constant delay T. The line feels like a spring b / T in
    contact and a mass b T in free motion. Lost packets turn into drift; a play-out buffer keeps T constant.
    The split margin W can be negative, because the line stores energy that entered earlier at the same port.

        master: F = -(b v_m - sqrt(2 b) w_m),   u_m = sqrt(2 b) v_m - w_m
        slave:  v_d = (sqrt(2 b) u_s + f) / b,  w_s = u_s + sqrt(2 / b) f

    The schemes' forces are not used: the slave's environment force closes the line, as in position-force control.

    Waves are filtered before they are sent: a low-pass has a gain of at most 1, so it is passive, and it damps the
    reflections between the two ends.

    Args:
        b: wave impedance [N s/m]. cutoff: cut-off of the filter [Hz].
    """

    name = "wave"

    def __init__(self, b: float = 15.0, cutoff: float = 10.0) -> None:
        self.b, self.cutoff = b, cutoff

    def start(self, N: int, dt: float) -> None:
        super().start(N, dt)
        self._share = 1.0 - np.exp(-2.0 * np.pi * self.cutoff * dt)
        self._before = np.zeros((3, N))

    def _master_forces(self, F: Array, W: Array, here: Packet, remote: Packet) -> tuple[Array, Array]:
        root = np.sqrt(2.0 * self.b)
        v = (here.x - self._before) / self.dt  # mean over the step, also used for the energy
        self._before = here.x
        u = self.waves[0] + self._share * (root * v - remote.wave - self.waves[0])
        self.waves = (u, self.waves[1])
        return root * remote.wave - self.b * v, 0.0 * F

    def _asked_step(self, x: Array, f: Array, remote: Packet) -> Array:
        u = remote.wave
        w = self.waves[1] + self._share * (u + np.sqrt(2.0 / self.b) * f - self.waves[1])
        self.waves = (self.waves[0], w)
        step: Array = (np.sqrt(2.0 * self.b) * u + f) / self.b * self.dt
        return step


class TimeDomainPassivity(Passivity):
    """Dissipate exactly the observed excess energy (Hannaford, Ryu 2002; with delay: Ryu et al. 2010).

    At each port W = E_in,other(t - T) - E_out + E_dissipated. Where W < 0:

        master (impedance):  F - alpha v_m,   alpha = -W / (v_m^2 dt), at most `max_damping`
        slave (admittance):  v - beta f_s,    beta = -W / (f_s^2 dt)

    The reduced velocity makes the slave drift away from the master. With `drift_compensation` the slave returns to the
    commanded position at the rate `return_rate` x (distance), as far as the margin W > 0 allows
    (Artigas et al. 2010); motion that costs no energy, in free space or along the force, is not limited.

    Args:
        max_damping: at the master [N s/m]; more than the arm's mass over a step would itself be unstable.
        return_rate: [1/s].
    """

    name = "time-domain"

    def __init__(self, drift_compensation: bool = True, max_damping: float = 60.0, return_rate: float = 10.0) -> None:
        self.drift_compensation, self.max_damping, self.return_rate = drift_compensation, max_damping, return_rate

    def _master_forces(self, F: Array, W: Array, here: Packet, remote: Packet) -> tuple[Array, Array]:
        alpha = np.minimum(np.maximum(-W, 0.0) / (dot(here.v, here.v) * self.dt + TINY), self.max_damping)
        return F, -alpha * here.v

    def _slave_change(self, x: Array, asked: Array, W: Array, f: Array) -> Array:
        largest = MAX_CORRECTION * self.dt
        back = np.maximum(-W, 0.0) * f / (dot(f, f) + TINY)
        back *= np.minimum(1.0, largest / (np.sqrt(dot(back, back)) + TINY))
        if not self.drift_compensation:
            return back
        home = self.return_rate * self.dt * (x - self.target - asked)
        home *= np.minimum(1.0, largest / (np.sqrt(dot(home, home)) + TINY))
        cost = -dot(f, home)
        paid = np.where(cost > 0.0, np.clip(W / np.maximum(cost, TINY), 0.0, 1.0), 1.0)
        return back + np.where(W >= 0.0, paid, 0.0) * home


PASSIVITIES = {kind.name: kind for kind in (Passivity, DampingInjection, WaveVariables, TimeDomainPassivity)}
