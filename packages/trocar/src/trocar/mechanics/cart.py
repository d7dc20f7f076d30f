"""Cart: the patient cart with its set-up joints, and every arm on it in one world frame; placement of the arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trocar import checks
from trocar.arms import Arm, load_arm
from trocar.arms.arm import GRAVITY
from trocar.arms.suj import SetUpArm, set_up_arms
from trocar.errors import TrocarError, Unreachable, check_known
from trocar.mechanics.arm_kinematics import ArmKinematics, batch_first, batch_last
from trocar.mechanics.inverse_kinematics.descent import bounded_least_squares
from trocar.mechanics.kinematics import Motion, Tree
from trocar.spatial import Array, inverse, unit

UP = np.array([0.0, 0.0, 1.0])  # in the world
STARTS = 256  # number of other starts, used if the descent from the current pose gets stuck
ITERATIONS = 100
SETTLED = 1e-12  # residual [m, rad] at which a descent stops


@dataclass(frozen=True)
class Placement:
    """Set-up joints that place a remote centre at a target.

    Attributes:
        arm: PSM1, PSM2, PSM3 or ECM. q_setup: (n,) [m, rad], for `Cart.moved`.
        T_world_base: (4, 4), base (RCM) frame of the arm in the world.
        position_error: distance of the RCM from the target [m].
        direction_error: angle of the shaft from the target [rad]; 0 if no direction was requested.
    """

    arm: str
    q_setup: Array
    T_world_base: Array
    position_error: float
    direction_error: float


class SetUpChain:
    """Kinematics of the set-up joints of one arm, in the world of the cart.

    The shaft of an arm is the insertion direction of its instrument or endoscope at q = 0: -z of its base.
    """

    def __init__(self, facts: SetUpArm) -> None:
        self.facts = facts
        self._tree = Tree(facts.bodies, facts.joint_names)

    def T_world_base(self, q_setup: Array) -> Array:
        """Base (RCM) frame (..., 4, 4) of the arm in the world, for checked joints (..., n)."""
        return self._pose(self._tree.motion(batch_last(q_setup)), -1, self.facts.T_last_base, q_setup)

    def base_and_jacobian(self, q_setup: Array) -> tuple[Array, Array]:
        """`T_world_base` of joints (N, n), and its Jacobian (N, 6, n), linear rows first, world axes."""
        motion, T_last_base = self._tree.motion(batch_last(q_setup)), self.facts.T_last_base
        J = batch_first(self._tree.jacobian(motion, len(self.facts.bodies) - 1, T_last_base), q_setup.shape[:-1])
        R = self.facts.T_world_column[:3, :3]
        J = np.concatenate([R @ J[..., :3, :], R @ J[..., 3:, :]], axis=-2)
        return self._pose(motion, -1, T_last_base, q_setup), J

    def poses(self, q_setup: Array) -> dict[str, Array]:
        """Frame (4, 4) of every joint in the world, named after it, and of the arm's base ("base")."""
        motion = self._tree.motion(batch_last(q_setup))
        poses = {name: self._pose(motion, i, np.eye(4), q_setup) for i, name in enumerate(self.facts.joint_names)}
        return {**poses, "base": self.T_world_base(q_setup)}

    def fixed_tilt(self) -> float | None:
        """Angle [rad] between the shaft and straight down that no set-up joint changes; None if one does."""
        q = np.array(self.facts.q_simulated)
        if any(abs(T[2, 2]) < 1.0 - 1e-12 for name, T in self.poses(q).items() if name != "base"):
            return None
        return float(_angle(_shaft(self.T_world_base(q)), -UP))

    def checked(self, q_setup: ArrayLike) -> Array:
        """Joint values (n,) as a read-only array; errors name the joint."""
        facts = self.facts
        names = ", ".join(facts.joint_names)
        try:
            q = np.array(q_setup, dtype=float)
        except (TypeError, ValueError):
            raise TrocarError(f"set-up joints of {facts.name} must be {facts.n} numbers ({names})") from None
        if q.shape != (facts.n,):
            more = "; omit the fixed joints that the dVRK lists as 0" if q.ndim == 1 and q.size > facts.n else ""
            raise TrocarError(f"{facts.name} has {facts.n} set-up joints ({names}), got shape {q.shape}{more}")
        for i in np.flatnonzero(~np.isfinite(q)):
            raise TrocarError(f"set-up joint {i + 1} ({facts.joint_names[i]}) of {facts.name} is {q[i]}")
        facts.check_within_limits(q, f"set-up of {facts.name}")
        q.setflags(write=False)
        return q

    def placement(
        self, q_start: Array, rcm: Array, shaft: Array | None, position_tolerance: float, direction_tolerance: float
    ) -> Placement:
        """Joints within limits that place the RCM at `rcm` [m] with the shaft along the unit vector `shaft`.

        The solution from the current joints if it converges, otherwise the nearest one from other starts.
        """
        facts, tilt = self.facts, self.fixed_tilt()
        asked = None if shaft is None else float(_angle(shaft, -UP))
        if asked is not None and tilt is not None and abs(asked - tilt) > direction_tolerance:
            raise Unreachable(
                (),
                f"the set-up joints of {facts.name} turn about vertical axes only, so its shaft stays "
                f"{np.degrees(tilt):.4g} deg from straight down ({np.degrees(asked):.4g} requested): "
                "they set its heading, not its tilt",
            )

        def residual(q: Array, _: Array) -> tuple[Array, Array]:
            T, J = self.base_and_jacobian(q)
            if shaft is None:
                return T[..., :3, 3] - rcm, J[..., :3, :]
            d = _shaft(T)
            turned = np.cross(np.swapaxes(J[..., 3:, :], -1, -2), d[..., None, :])  # w x d of every joint
            r = np.concatenate([T[..., :3, 3] - rcm, d - shaft], axis=-1)
            return r, np.concatenate([J[..., :3, :], np.swapaxes(turned, -1, -2)], axis=-2)

        start = np.clip(q_start, facts.lower, facts.upper)
        others = np.random.default_rng(0).uniform(facts.lower, facts.upper, (STARTS, facts.n))
        failed: list[Placement] = []
        for starts in (start[None], others):
            q, _ = bounded_least_squares(residual, starts, facts.lower, facts.upper, SETTLED, ITERATIONS)
            T = self.T_world_base(q)
            position = np.linalg.norm(T[:, :3, 3] - rcm, axis=-1)
            direction = np.zeros(len(q)) if shaft is None else _angle(_shaft(T), shaft)
            there = (position <= position_tolerance) & (direction <= direction_tolerance)
            far = np.where(there, np.linalg.norm(q - q_start, axis=-1), np.inf)
            i = int(far.argmin() if there.any() else np.hypot(position, direction).argmin())
            candidate = Placement(facts.name, q[i], T[i], float(position[i]), float(direction[i]))
            if there.any():
                return candidate
            failed.append(candidate)
        best = min(failed, key=lambda placement: np.hypot(placement.position_error, placement.direction_error))
        left = f"{1e3 * best.position_error:.3g} mm"
        if shaft is not None:
            left += f" and {np.degrees(best.direction_error):.3g} deg"
        at_limit = (best.q_setup - facts.lower) * (facts.upper - best.q_setup) <= 0.0
        stops = [joint.name for joint, at in zip(facts.joints, at_limit, strict=True) if at]
        where = f", with {' and '.join(stops)} at the limit" if stops else ""
        raise Unreachable((), f"no set-up joints of {facts.name} were found with an error below {left}{where}")

    def _pose(self, motion: Motion, body: int, T_body_frame: Array, q_setup: Array) -> Array:
        T = self.facts.T_world_column @ self._tree.frame(motion, body, T_body_frame)
        return T.reshape(q_setup.shape[:-1] + (4, 4))


def _shaft(T_world_base: Array) -> Array:
    return np.asarray(-T_world_base[..., :3, 2])


def _angle(a: Array, b: Array) -> Array:
    """Angle (...) between unit vectors [rad], accurate near 0 and pi."""
    return np.asarray(2.0 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1)))


class Cart:
    """The four arms of a patient cart at given set-up joints. Immutable: `moved` returns a new cart.

    World: z up, y from the column to the front of the cart, x towards PSM2, as in the dVRK. The base of each arm is
    its remote centre of motion (RCM). ECM_view is the tip of the ECM: x left, y up, z away in the image of a
    straight endoscope. SI units, radians.

    Attributes:
        name: "Classic" or "Si". q_setup: set-up joints (n,) of each arm [m, rad].
        instruments: instrument or endoscope by arm; omitted arms have their default.
    """

    def __init__(
        self,
        name: str,
        set_up: Mapping[str, SetUpArm],
        q_setup: Mapping[str, ArrayLike] | None = None,
        instruments: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._chains = {arm: SetUpChain(facts) for arm, facts in set_up.items()}
        positions, mounted = _by_arm("q_setup", q_setup), _by_arm("instruments", instruments)
        for arm in (*positions, *mounted):
            self._chain(arm)
        self.q_setup: Mapping[str, Array] = MappingProxyType(
            {arm: chain.checked(positions.get(arm, chain.facts.q_simulated)) for arm, chain in self._chains.items()}
        )
        self.instruments: Mapping[str, str] = MappingProxyType(mounted)
        self._arms = {
            arm: ArmKinematics(load_arm(facts.arm, instrument=mounted.get(arm))) for arm, facts in set_up.items()
        }
        self._camera = next(name for name, arm in self._arms.items() if arm.arm.carries == "endoscope")

    def __reduce__(self) -> tuple[Any, ...]:
        facts = {arm: chain.facts for arm, chain in self._chains.items()}
        return Cart, (self.name, facts, dict(self.q_setup), dict(self.instruments))

    @property
    def arms(self) -> tuple[str, ...]:
        """PSM1, PSM2, PSM3 and ECM."""
        return tuple(self._chains)

    def arm(self, arm: str) -> Arm:
        """Data of an arm with its mounted instrument; for its equations see `load_mechanism(..., gravity=)`."""
        self._chain(arm)
        return self._arms[arm].arm

    def set_up(self, arm: str) -> SetUpArm:
        """Data of the set-up joints of an arm: names, limits, geometry, source."""
        return self._chain(arm).facts

    def moved(self, q_setup: Mapping[str, ArrayLike]) -> Cart:
        """A copy of the cart with new set-up joint values of some arms [m, rad]."""
        facts = {arm: chain.facts for arm, chain in self._chains.items()}
        return Cart(self.name, facts, {**self.q_setup, **_by_arm("q_setup", q_setup)}, self.instruments)

    def T_world_base(self, arm: str) -> Array:
        """Base frame (4, 4) of an arm in the world; its origin is the RCM [m]."""
        return self._chain(arm).T_world_base(self.q_setup[arm])

    def T_world_tip(self, arm: str, q: ArrayLike) -> Array:
        """Tip pose (..., 4, 4) of an arm in the world for its joints q (..., n)."""
        return self.T_world_base(arm) @ self._arms[arm].forward_kinematics(q)

    def T_view_base(self, arm: str, q_ecm: ArrayLike) -> Array:
        """Base frame (..., 4, 4) of an arm in ECM_view for the joints q_ecm (..., 4): the dVRK's "base frame"."""
        return inverse(self.T_world_tip(self._camera, q_ecm)) @ self.T_world_base(arm)

    def T_view_tip(self, arm: str, q: ArrayLike, q_ecm: ArrayLike) -> Array:
        """Tip pose (..., 4, 4) of an arm in ECM_view, for its joints q (..., n) and those of the ECM (..., 4)."""
        T_world_tip, T_world_view = self.T_world_tip(arm, q), self.T_world_tip(self._camera, q_ecm)
        try:
            return inverse(T_world_view) @ T_world_tip
        except ValueError:
            shapes = f"q {np.shape(q)}, q_ecm {np.shape(q_ecm)}"
            raise TrocarError(f"batch axes do not fit together: {shapes}") from None

    def set_up_poses(self, arm: str) -> dict[str, Array]:
        """Frame (4, 4) of every set-up joint in the world, from the column outwards, then of the arm's "base"."""
        return self._chain(arm).poses(self.q_setup[arm])

    def up(self, arm: str) -> Array:
        """Unit vector (3,) opposite to gravity, in base axes of an arm."""
        return self.T_world_base(arm)[2, :3]

    def gravity(self, arm: str) -> Array:
        """Gravity (3,) [m/s^2] in base axes of an arm: `gravity=` of `load_mechanism` and `Simulator`."""
        return -GRAVITY * self.up(arm)

    def mounting(self, arm: str) -> float:
        """Mounting pitch [rad] of an arm: up is (0, sin p, cos p) in its base.

        Raises if the set-up joints also roll the base, so that no pitch describes it (Classic PSMs).
        """
        x, y, z = self.up(arm)
        if abs(x) > 1e-9:
            raise TrocarError(
                f"the base of {arm} is not purely pitched: up is ({x:.4f}, {y:.4f}, {z:.4f}); use gravity"
            )
        return float(np.arctan2(y, z))

    def shaft(self, arm: str) -> Array:
        """Unit vector (3,) in the world along which an arm inserts at q = 0: -z of its base."""
        return -self.T_world_base(arm)[:3, 2]

    def fixed_tilt(self, arm: str) -> float | None:
        """Angle [rad] from straight down to the shaft of an arm that no set-up joint can change.

        None for the Classic PSMs, which have a joint with a horizontal axis. The other arms have vertical axes only:
        their joints set only the heading of the shaft.
        """
        return self._chain(arm).fixed_tilt()

    def place(
        self,
        arm: str,
        rcm: ArrayLike,
        shaft: ArrayLike | None = None,
        *,
        position_tolerance: float = 1e-6,
        direction_tolerance: float = 1e-6,
    ) -> Placement:
        """Set-up joints that place the RCM of an arm at a point of the world, with a given shaft direction.

        Solves least squares within the joint limits from the current set-up joints, 1 m weighted as 1 rad. If that gets
        stuck, other starts are tried and the solution nearest to the current joints is taken.

        Args:
            arm: PSM1, PSM2, PSM3 or ECM.
            rcm: position (3,) [m] in the world.
            shaft: direction (3,) of insertion at q = 0 in the world, of any length; None leaves it free. The arm may
                still turn about it. If `fixed_tilt` is not None, only the heading can be chosen.
            position_tolerance, direction_tolerance: largest allowed errors [m], [rad].

        Raises Unreachable with the remaining error. The cart itself does not move: `cart.moved({arm: found.q_setup})`.
        """
        chain = self._chain(arm)
        target = checks.finite("rcm", rcm, (3,), "three finite numbers [m] in the world")
        direction = None
        if shaft is not None:
            direction = checks.finite("shaft", shaft, (3,), "three finite numbers in the world")
            if np.linalg.norm(direction) == 0.0:
                raise TrocarError("shaft is the zero vector and has no direction; omit it to allow any direction")
            direction = unit(direction)
        for what, value in (("position_tolerance", position_tolerance), ("direction_tolerance", direction_tolerance)):
            if not (np.isfinite(value) and value > 0.0):
                raise TrocarError(f"{what} must be positive, got {value!r}")
        return chain.placement(self.q_setup[arm], target, direction, position_tolerance, direction_tolerance)

    def _chain(self, arm: str) -> SetUpChain:
        check_known(f"arm of the {self.name} cart", self._chains, arm)
        return self._chains[arm]


def load_cart(
    name: str, *, instruments: Mapping[str, str] | None = None, q_setup: Mapping[str, ArrayLike] | None = None
) -> Cart:
    """A patient cart with PSM1, PSM2, PSM3 and ECM.

    Args:
        name: "Classic" (arms PSM and ECM) or "Si" (arms PSM_Si and ECM_Si).
        instruments: number or name of the instrument or endoscope, by arm; omitted arms have their default.
        q_setup: set-up joints [m, rad] by arm, from the column outwards. Default for omitted arms: the values of the
            dVRK's simulated cart.
    """
    return Cart(name, set_up_arms(name), q_setup, instruments)


def _by_arm(what: str, values: object) -> dict:
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise TrocarError(f"{what} must map arms to values, such as {{'PSM1': ...}}, got {values!r}")
    return dict(values)
