"""Mechanism: the equations of one arm, in its independent joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm, gravity_vector
from trocar.arms.parameters import Parameters
from trocar.errors import TrocarError, check_type, shown
from trocar.mechanics import recursion
from trocar.mechanics.arm_kinematics import FLOAT, MAX_SQUARE, ArmKinematics, batch_first, batch_last
from trocar.mechanics.drives import Drives, Elastics
from trocar.mechanics.inertia import NAMES, barycentric
from trocar.mechanics.recursion import BaseParameters, TreeInertia, base_parameters
from trocar.mechanics.tree_arrays import TreeArrays, tree_arrays
from trocar.recording import Recording, filtered
from trocar.recording.filters import MIN_ROWS
from trocar.spatial import Array, pose

if TYPE_CHECKING:
    from trocar.mechanics.pinocchio_tree import PinocchioTree


class Mechanism(ArmKinematics):
    """Kinematics and dynamics of an arm: M(q) ddq + c(q, dq) + g(q) + f(q, dq) = tau.

    SI units, radians, base axes; arguments may have leading batch axes (..., n). One state goes through Pinocchio,
    a batch through the same recursions over arrays. Rotor inertia is in M; springs, cables and constant forces are in
    g. The effort that a robot reports is tau + effort_bias.

    Attributes:
        arm: data of the arm. parameters: its inertias and drives, None if the arm has none.
        counterweight: False if the mass of the counterweight is removed. gravity_vector: (3,) [m/s^2] in base axes.
    """

    def __init__(
        self,
        arm: Arm,
        parameters: Parameters | None = None,
        *,
        counterweight: bool = True,
        gravity: ArrayLike | None = None,
        mounting: float | None = None,
    ) -> None:
        check_type("arm", arm, Arm, "an Arm; load_mechanism takes names")
        super().__init__(arm)
        if not counterweight and arm.counterweight is None:
            raise TrocarError(f"{arm.name} has no counterweight; omit counterweight")
        self.parameters = parameters
        self.counterweight = counterweight
        self.gravity_vector = gravity_vector(arm, gravity, mounting)

    def __repr__(self) -> str:
        chosen = "without parameters" if self.parameters is None else self.parameters.name
        light = "" if self.counterweight or self.arm.counterweight is None else ", no counterweight"
        return f"<Mechanism: {self.arm.name}, {chosen}, {self.arm.n} joints{light}>"

    def under(self, gravity: ArrayLike) -> Mechanism:
        """A copy with another gravity (3,) in base axes [m/s^2]."""
        return Mechanism(self.arm, self.parameters, counterweight=self.counterweight, gravity=gravity)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M (..., n, n), symmetric, rotor inertia included."""
        q = self.checked_state(q)
        if q.ndim == 1:
            return self._pinocchio.mass_matrix(q) + self.drives.M
        return self._mass_and_gravity(q)[0]

    def coriolis(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """c (..., n): Coriolis and centrifugal efforts C(q, dq) dq [N m, N]."""
        q, dq = self.checked_states(q=q, dq=dq)
        if q.ndim == 1:
            return self._pinocchio.terms(q, dq)[1]
        return self._newton_euler(q, dq, np.zeros_like(q), np.zeros(3))

    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """C (..., n, n) of Christoffel symbols, with C dq = `coriolis` and dM/dt - 2 C skew-symmetric."""
        q, dq = self.checked_states(q=q, dq=dq)
        if q.ndim == 1:
            return self._pinocchio.coriolis_matrix(q, dq)
        states = zip(q.reshape(-1, self.n), dq.reshape(-1, self.n), strict=True)
        matrices = [self._pinocchio.coriolis_matrix(*state) for state in states]
        return np.array(matrices).reshape(*q.shape, self.n)

    def gravity(self, q: ArrayLike) -> Array:
        """g (..., n): gradient of all potential energy, weight and springs [N m, N]."""
        q = self.checked_state(q)
        if q.ndim == 1:
            g = self._pinocchio.gravity(q)
            self.drives.add_springs(g, q)
            return g + self.elastics.effort(q) if self.elastics else g
        return self._mass_and_gravity(q)[1]

    def projected_gravity(self, rows: Array, D: Array) -> Callable[[Array], Array]:
        """rows (k, n) @ `gravity`(D x) (k,) as a function of x (m,), unchecked and faster; for the engine's loop."""
        drives = self.drives
        if self.elastics or drives.K2.any():
            return lambda x: rows.dot(self.gravity(D.dot(x)))
        weight = self._pinocchio.projected_gravity(rows, D)
        springs, constant = rows @ drives.stiffness @ D, rows @ drives.constant
        return (lambda x: weight(x) + springs.dot(x) + constant) if springs.any() else lambda x: weight(x) + constant

    def terms(self, q: ArrayLike, dq: ArrayLike) -> tuple[Array, Array, Array]:
        """M, c and g in one call, faster than three calls."""
        # fast path for control loops: one state in plain arrays needs no conversion
        if not (
            (type(q) is type(dq) is np.ndarray and q.dtype is dq.dtype is FLOAT)
            and (q.shape == dq.shape == (self.n,) and q.dot(q) + dq.dot(dq) < MAX_SQUARE)
        ):
            q, dq = self.checked_states(q=q, dq=dq)
        if q.ndim == 1:
            M, c, g = self._pinocchio.terms(q, dq)
            M += self.drives.M
            self.drives.add_springs(g, q)
            if self.elastics:
                g += self.elastics.effort(q)
            return M, c, g
        c = self._newton_euler(q, dq, np.zeros_like(q), np.zeros(3))
        M, g = self._mass_and_gravity(q)
        return M, c, g

    def friction(self, q: ArrayLike, dq: ArrayLike, external: ArrayLike | None = None) -> Array:
        """f (..., n): viscous and Coulomb (sign(0) = 0) efforts [N m, N].

        Dahl friction has its steady-sliding value, z = sign(s'); `friction_along` integrates it along a motion.

        Args:
            external: (..., n) joint efforts of contacts and applied wrenches [N m, N], which load the drives too.
        """
        q, dq = self.checked_states(q=q, dq=dq)
        return self.drives.friction(q, dq, self.load(q, external))

    def friction_along(
        self,
        q: ArrayLike,
        dt: ArrayLike,
        dq: ArrayLike | None = None,
        z0: ArrayLike | None = None,
        external: ArrayLike | None = None,
    ) -> Array:
        """f (T, n) along a motion q (T, n), with the memory of its Dahl elements [N m, N].

        Args:
            dt: time between samples, or the times (T,) [s]. dq: rates (T, n); None for central differences of q.
            z0: state of each Dahl element at the first sample, in drive order. Default: 0, relaxed.
            external: (T, n), as for `friction`.
        """
        q = self.checked_state(q)
        if q.ndim != 2 or len(q) < 2:
            raise TrocarError(f"q along a motion must be (T, {self.n}) with at least two samples, got shape {q.shape}")
        if dq is None:
            t = checks.real_array("dt", dt)
            steps = np.diff(t) if t.ndim else t
            if t.shape not in ((), (len(q),)) or not ((steps > checks.MIN_SECONDS) & (steps < checks.MAX_STATE)).all():
                raise TrocarError(f"dt must be a positive time step or {len(q)} increasing times [s], got {shown(dt)}")
            dq = np.gradient(q, t, axis=0)
        q, dq = self.checked_states(q=q, dq=dq)
        return self.drives.friction(q, dq, self.load(q, external), self.drives.states(q, z0))

    def effort_along(self, recording: Recording) -> Array:
        """Measured effort (N, n) that the model predicts along a recording in joints [N m, N].

        Dynamics, friction with its memory (relaxed at the first row) and `effort_bias`. A recording without ddq is
        treated as measured: `trocar.recording.filtered` smooths its motion, because differences of raw velocities are
        mostly noise (fewer than 22 rows cannot be filtered and are differentiated directly). The cut-offs are those
        with which the parameters were identified, by actuator, if their file has them; otherwise 17 Hz.
        """
        recording.check_joints(self.arm)
        if len(recording) < 2:
            raise TrocarError("a recording of one row has no motion; at least two rows are needed")
        if recording.ddq is None and len(recording) >= MIN_ROWS:
            recording = self._smoothed(recording)
        ddq = np.gradient(recording.dq, recording.t, axis=0) if recording.ddq is None else recording.ddq
        friction = self.friction_along(recording.q, recording.t, recording.dq)
        return self.inverse_dynamics(recording.q, recording.dq, ddq) + friction + self.effort_bias

    def _smoothed(self, recording: Recording) -> Recording:
        """A recording in joints, filtered in the coordinates of the actuators as in the identification of the set."""
        cutoffs, coupling = self.dynamic_parameters.motion_cutoffs, self.arm.motors.coupling
        if not cutoffs:
            return filtered(recording)
        motors = replace(recording, **{x: getattr(recording, x) @ np.linalg.inv(coupling).T for x in ("q", "dq")})
        smooth = filtered(motors, motion=cutoffs)
        return replace(smooth, **{x: getattr(smooth, x) @ coupling.T for x in ("q", "dq", "ddq")})

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, friction: bool = False) -> Array:
        """Effort (..., n) of a motion [N m, N]; friction=True adds friction."""
        q, dq, ddq = self.checked_states(q=q, dq=dq, ddq=ddq)
        if q.ndim == 1:
            tau = self._pinocchio.inverse_dynamics(q, dq, ddq)
        else:
            tau = self._newton_euler(q, dq, ddq, self.gravity_vector)
        tau = tau + ddq @ self.drives.M + self.drives.springs(q) + self.elastics.effort(q)
        return tau + self.drives.friction(q, dq, self.load(q)) if friction else tau

    def inverse_dynamics_derivatives(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Derivatives (3, ..., n, n) of `inverse_dynamics` without friction by q, dq and ddq; exact.

        Entry [..., i, j]: of the effort of joint i by joint j [N m or N per rad or m, with s and s^2 for dq and ddq].
        The last is the mass matrix; the first, at rest with dq and ddq zero, is the derivative of `gravity`.
        """
        q, dq, ddq = self.checked_states(q=q, dq=dq, ddq=ddq)
        states = zip(*(x.reshape(-1, self.n) for x in (q, dq, ddq)), strict=True)
        links = np.array([self._pinocchio.inverse_dynamics_derivatives(*state) for state in states])
        D = np.moveaxis(links.reshape(*q.shape[:-1], 3, self.n, self.n), -3, 0)
        D[0] += self.drives.spring_slopes(q)
        if self.elastics:
            amplitudes = np.array([element.amplitude for element in self.elastics.elements])
            D[0] += (self.elastics.slopes(q) @ amplitudes)[..., None] * np.eye(self.n)
        D[2] += self.drives.M
        return D

    def forward_dynamics(self, q: ArrayLike, dq: ArrayLike, tau: ArrayLike, friction: bool = False) -> Array:
        """Acceleration (..., n) under an effort [rad/s^2, m/s^2]. Friction at rest is not resolved: sign(0) = 0."""
        q, dq, tau = self.checked_states(q=q, dq=dq, tau=tau)
        M, c, g = self.terms(q, dq)
        rest = tau - c - g - (self.drives.friction(q, dq, self.load(q)) if friction else 0.0)
        smallest = np.linalg.eigvalsh(M)[..., 0].min(initial=np.inf)
        if smallest <= 0:
            raise TrocarError(
                f"the mass matrix is not positive definite (smallest eigenvalue {smallest:.3g}): the parameter set "
                f"'{self.dynamic_parameters.name}' is not physical, use a consistent one"
            )
        return np.linalg.solve(M, rest[..., None])[..., 0]

    def kinetic_energy(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Kinetic energy (...) [J], rotors included."""
        q, dq = self.checked_states(q=q, dq=dq)
        return 0.5 * np.einsum("...i,...ij,...j->...", dq, self.mass_matrix(q), dq)

    def potential_energy(self, q: ArrayLike) -> Array:
        """Potential energy (...) [J]: springs, and weight (zero with every centre of mass at the base origin)."""
        q = self.checked_state(q)
        motion = self.links.motion(batch_last(q))
        weight = np.zeros(motion.p[0].shape[-1])
        for i in self.tree_inertia.massive:
            com = self.links.pose(motion, i, pose(p=self.tree_inertia.com[i]))[1]
            weight -= self.tree_inertia.mass[i] * (self.gravity_vector @ com)
        return weight.reshape(q.shape[:-1]) + self.drives.spring_energy(q) + self.elastics.energy(q)

    def regressor(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Y (..., n, p): Y @ parameter_vector = inverse_dynamics(friction=True) + effort_bias; `parameter_names`.

        Dahl friction is in steady sliding. Load-dependent friction uses the load of this set as a constant.
        """
        q, dq, ddq = self.checked_states(q=q, dq=dq, ddq=ddq)
        return self._regressor(q, dq, ddq)

    def regressor_along(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike, z0: ArrayLike | None = None) -> Array:
        """Y (T, n, p) along a motion q (T, n), with the Dahl states of `friction_along`."""
        motion = {"q": self.checked_state(q), "dq": self.checked_state(dq, "dq"), "ddq": self.checked_state(ddq, "ddq")}
        if len({rows.shape for rows in motion.values()}) > 1 or motion["q"].ndim < 2:
            shapes = ", ".join(f"{name} {rows.shape}" for name, rows in motion.items())
            raise TrocarError(f"q, dq and ddq of a motion must have the same shape (T, {self.n}), got {shapes}")
        rows = motion["q"], motion["dq"], motion["ddq"]
        return self._regressor(*rows, self.drives.states(motion["q"], z0))

    def _regressor(self, q: Array, dq: Array, ddq: Array, z: Array | None = None) -> Array:
        if q.ndim == 1:
            links = self._pinocchio.regressor(q, dq, ddq)
        else:
            states = batch_last(q), batch_last(dq), batch_last(ddq)
            Y = recursion.regressor(self.links, self.tree_inertia.massive, *states, self.gravity_vector)
            links = batch_first(Y, q.shape[:-1])
        drives = self.drives.regressor(q, dq, ddq, self.load(q), z)
        return np.concatenate([links, drives, self.elastics.regressor(q)], axis=-1)

    def link_regressor_derivatives(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> tuple[Array, Array]:
        """Y_links (N, n, p) of states (N, n), and its derivatives (3, N, n, p, n) by q, dq and ddq; exact.

        p: ten barycentric parameters of every body with inertia, the first columns of `regressor`.
        """
        q, dq, ddq = self.checked_states(q=q, dq=dq, ddq=ddq)
        Y, D = recursion.regressor_derivatives(
            self.links, self.tree_inertia.massive, batch_last(q), batch_last(dq), batch_last(ddq), self.gravity_vector
        )
        return np.moveaxis(Y, -1, 0), np.moveaxis(D, (1, 4), (4, 1))

    def load(self, q: ArrayLike, external: ArrayLike | None = None) -> Array | None:
        """Efforts (..., n) that the drives carry at rest, gravity - external [N m, N]; None if unused."""
        if not self.drives.loaded:
            return None
        g = self.gravity(q)
        return g if external is None else g - self.checked_state(external, "external")

    @property
    def effort_bias(self) -> Array:
        """(n,): reported effort minus acting effort [N m, N], read-only; `Fo` of the drives."""
        return self.drives.bias

    @cached_property
    def parameter_vector(self) -> Array:
        """(p,), read-only: barycentric parameters of every body with inertia, drive terms, amplitudes of elastics."""
        inertias = self.dynamic_parameters.inertias
        links = [barycentric(inertias[self.links.names[i]]) for i in self.tree_inertia.massive]
        amplitudes = [element.amplitude for element in self.elastics.elements]
        values = np.concatenate([*links, self.drives.values, amplitudes])
        values.setflags(write=False)
        return values

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """Parameter names (p,), such as `back.mx` or `yaw.Fc`."""
        links = [f"{self.links.names[i]}.{name}" for i in self.tree_inertia.massive for name in NAMES]
        return (*links, *self.drives.names, *(f"{element.name}.amplitude" for element in self.elastics.elements))

    @cached_property
    def base_parameters(self) -> BaseParameters:
        """The combinations of parameters that the effort depends on."""
        return base_parameters(self.regressor, self.arm.lower, self.arm.upper)

    @cached_property
    def drives(self) -> Drives:
        """Rotor inertia, friction and stiffness."""
        return Drives(self.dynamic_parameters.drives, self.arm)

    @cached_property
    def elastics(self) -> Elastics:
        """Springs and cables that are not linear in a joint."""
        return Elastics(self.dynamic_parameters.elastics, self.arm)

    @property
    def dynamic_parameters(self) -> Parameters:
        """`parameters`; raises an error if the arm has none."""
        if self.parameters is None:
            raise TrocarError(
                f"{self.arm.name} in geometry '{self.arm.geometry}' has no dynamic parameters: only its "
                "kinematics are available"
            )
        return self.parameters

    @cached_property
    def tree_inertia(self) -> TreeInertia:
        """Masses [kg], centres of mass [m] and inertias about them [kg m^2] in link frames; zero for omitted bodies."""
        count = len(self.arm.bodies)
        mass, com, I = np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3, 3))
        for name, body in self.dynamic_parameters.inertias.items():
            if name == self.arm.counterweight and not self.counterweight:
                continue
            i = self.links.index(name)
            mass[i], com[i], I[i] = body.mass, body.com, body.I
        return TreeInertia(mass, com, I)

    @cached_property
    def tree(self) -> TreeArrays:
        """The mechanism as plain read-only arrays, for code generators and other engines."""
        return tree_arrays(self.arm, self.tree_inertia, self.gravity_vector, self.drives, self.elastics)

    @cached_property
    def _pinocchio(self) -> PinocchioTree:
        from trocar.mechanics.pinocchio_tree import PinocchioTree  # here, because batches do without Pinocchio

        return PinocchioTree(self.arm.bodies, self.tree_inertia, self.arm.E, self.gravity_vector)

    def _mass_and_gravity(self, q: Array) -> tuple[Array, Array]:
        """M and g of a batch."""
        M, g = recursion.mass_and_gravity(self.links, self.tree_inertia, batch_last(q), self.gravity_vector)
        M, g = (batch_first(x, q.shape[:-1]) for x in (M, g))
        return M + self.drives.M, g + (self.drives.springs(q) + self.elastics.effort(q))

    def _newton_euler(self, q: Array, dq: Array, ddq: Array, g: Array) -> Array:
        states = batch_last(q), batch_last(dq), batch_last(ddq)
        tau = recursion.inverse_dynamics(self.links, self.tree_inertia, *states, g)
        return batch_first(tau, q.shape[:-1])
