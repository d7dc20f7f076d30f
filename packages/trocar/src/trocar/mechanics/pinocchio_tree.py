"""One state at a time, for control loops: Pinocchio's recursions, projected on the independent joints by E.

A hundred times as fast as a batch of one. Pinocchio computes in a workspace, `Data`; every thread has its own, so
that several threads can share one mechanism.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from trocar.arms import Arm, Body
from trocar.mechanics.recursion import TreeInertia
from trocar.spatial import Array


class _WorkSpace(threading.local):
    """Pinocchio's `Data` of a model, created once per thread."""

    def __init__(self, model: pin.Model) -> None:
        self.model, self.data = model, model.createData()

    def __reduce__(self) -> tuple[Any, ...]:
        return _WorkSpace, (self.model,)


class PinocchioChain:
    """The dVRK's serial chain of an arm with its tip, `q_serial = E q`, for q (n,)."""

    def __init__(self, arm: Arm, E: Array) -> None:
        self.model, index = _model(arm.serial)
        last = index[arm.serial[-1].name]
        self._tip = self.model.addFrame(pin.Frame("tip", last, _se3(arm.T_last_tip), pin.FrameType.OP_FRAME))
        self._own = _WorkSpace(self.model)
        self._E, self._E_tip = E, np.ascontiguousarray(E[:, : arm.tip_joints])

    def pose(self, q: Array) -> Array:
        """Tip pose (4, 4) in the base."""
        pin.forwardKinematics(self.model, self._own.data, self._E.dot(q))
        return pin.updateFramePlacement(self.model, self._own.data, self._tip).homogeneous  # a copy

    def jacobian(self, q: Array) -> Array:
        """Jacobian (6, m) of the tip, linear rows first, base axes."""
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return pin.computeFrameJacobian(self.model, self._own.data, self._E.dot(q), self._tip, axes).dot(self._E_tip)

    def pose_and_jacobian(self, q: Array) -> tuple[Array, Array]:
        """`pose` and `jacobian` of the same joints in one call."""
        model, data = self.model, self._own.data
        pin.computeJointJacobians(model, data, self._E.dot(q))
        T = pin.updateFramePlacement(model, data, self._tip).homogeneous  # a copy
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return T, pin.getFrameJacobian(model, data, self._tip, axes).dot(self._E_tip)

    def jacobian_dot(self, q: Array, dq: Array) -> Array:
        """Time derivative (6, m) of `jacobian` along joint rates dq (n,)."""
        model, data = self.model, self._own.data
        pin.computeJointJacobiansTimeVariation(model, data, self._E.dot(q), self._E.dot(dq))
        pin.updateFramePlacement(model, data, self._tip)
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return pin.getFrameJacobianTimeVariation(model, data, self._tip, axes).dot(self._E_tip)


class PinocchioTree:
    """A Pinocchio model, `q_tree = E q`, of the bodies with inertia or of all (depth-first, as `Arm` guarantees)."""

    def __init__(self, bodies: Sequence[Body], inertia: TreeInertia, E: Array, g: Array, whole: bool = False) -> None:
        carrying = list(range(len(bodies))) if whole else _carrying(bodies, inertia)
        self.model, index = _model([bodies[i] for i in carrying])
        for i in carrying:
            # FromDynamicParameters divides by the mass, which may be zero for a body that only carries others; the
            # other constructor rejects published inertias that are not positive definite
            link = pin.Inertia.Zero()
            if i in inertia.massive:
                m, c = float(inertia.mass[i]), inertia.com[i]
                L = inertia.I[i] + m * (c @ c * np.eye(3) - np.outer(c, c))  # about the link origin
                moments = L[0, 0], L[0, 1], L[1, 1], L[0, 2], L[1, 2], L[2, 2]
                link = pin.Inertia.FromDynamicParameters(np.array([m, *(m * c), *moments]))
            self.model.appendBodyToJoint(index[bodies[i].name], link, pin.SE3.Identity())
        self.model.gravity.linear = g
        self._own = _WorkSpace(self.model)
        # columns of Pinocchio's regressor in our order (xx xy xz yy yz zz, see `inertia`), of the bodies with inertia
        order = np.array([0, 1, 2, 3, 4, 5, 7, 6, 8, 9])
        self._columns = np.array([10 * carrying.index(i) + order for i in inertia.massive], dtype=int).ravel()
        self._E = np.ascontiguousarray(E[carrying])
        self._E_t = np.ascontiguousarray(self._E.T)

    @property
    def data(self) -> pin.Data:
        """The workspace of this thread."""
        return self._own.data

    def mass_matrix(self, q: Array) -> Array:
        """(n, n)."""
        return self._E_t @ pin.crba(self.model, self._own.data, self._E @ q) @ self._E

    def gravity(self, q: Array) -> Array:
        """(n,)."""
        return self._E_t.dot(pin.computeGeneralizedGravity(self.model, self._own.data, self._E.dot(q)))

    def projected_gravity(self, rows: Array, D: Array) -> Callable[[Array], Array]:
        """rows @ `gravity`(D x) (k,) as a function of x (m,), with the maps multiplied once."""
        of_links, links = np.ascontiguousarray(rows @ self._E_t), np.ascontiguousarray(self._E @ D)
        model, own = self.model, self._own
        return lambda x: of_links.dot(pin.computeGeneralizedGravity(model, own.data, links.dot(x)))

    def coriolis_matrix(self, q: Array, dq: Array) -> Array:
        """C (n, n) of Christoffel symbols: E is constant, so it projects C of the tree as it projects M."""
        C = pin.computeCoriolisMatrix(self.model, self._own.data, self._E.dot(q), self._E.dot(dq))
        return self._E_t.dot(C).dot(self._E)

    def inverse_dynamics(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Effort (n,) by Newton-Euler."""
        E = self._E
        return self._E_t @ pin.rnea(self.model, self._own.data, E @ q, E @ dq, E @ ddq)

    def inverse_dynamics_derivatives(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Derivatives (3, n, n) of `inverse_dynamics` by q, dq and ddq."""
        E = self._E
        by_q, by_dq, M = pin.computeRNEADerivatives(self.model, self._own.data, E @ q, E @ dq, E @ ddq)
        upper = np.triu(M)  # Pinocchio fills the upper triangle only
        return np.array([self._E_t @ part @ E for part in (by_q, by_dq, upper + np.triu(upper, 1).T)])

    def regressor(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Y (n, 10 k) with efforts = Y phi, phi the barycentric parameters of the k bodies with inertia."""
        E = self._E
        Y = pin.computeJointTorqueRegressor(self.model, self._own.data, E @ q, E @ dq, E @ ddq)
        return self._E_t @ Y[:, self._columns]

    def terms(self, q: Array, dq: Array) -> tuple[Array, Array, Array]:
        """M (n, n), c (n,) and g (n,) in one call; `dot` because `@` costs twice as much on arrays this small."""
        E, E_t, model, data = self._E, self._E_t, self.model, self._own.data
        q_tree = E.dot(q)
        M = E_t.dot(pin.crba(model, data, q_tree)).dot(E)
        c = E_t.dot(pin.nonLinearEffects(model, data, q_tree, E.dot(dq)))
        g = E_t.dot(pin.computeGeneralizedGravity(model, data, q_tree))
        c -= g
        return M, c, g


def _model(bodies: Sequence[Body]) -> tuple[pin.Model, dict[str | None, int]]:
    """The joints of bodies listed parents first, and the index of each by the name of its body."""
    model = pin.Model()
    index: dict[str | None, int] = {None: 0}
    for body in bodies:
        joint = pin.JointModelRZ() if body.kind == "revolute" else pin.JointModelPZ()
        index[body.name] = model.addJoint(index[body.parent], joint, _se3(body.placement), body.name)
    return model, index


def _se3(T: Array) -> pin.SE3:
    return pin.SE3(T[:3, :3].copy(), T[:3, 3].copy())


def _carrying(bodies: Sequence[Body], inertia: TreeInertia) -> list[int]:
    """Indices of the bodies that have inertia or carry one that has; the rest (a massless wrist) has no effect."""
    names = [body.name for body in bodies]
    carrying = set(inertia.massive)
    for i in reversed(range(len(bodies))):
        parent = bodies[i].parent
        if i in carrying and parent is not None:
            carrying.add(names.index(parent))
    return sorted(carrying)
