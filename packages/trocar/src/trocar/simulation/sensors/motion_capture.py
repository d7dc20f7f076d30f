"""Synthetic motion capture: cameras observe three markers on every link, with noise and occlusion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from trocar.arms import Arm
from trocar.control import Reference, State
from trocar.errors import TrocarError, check_known
from trocar.mechanics import Mechanism
from trocar.recording import Markers
from trocar.simulation.run import simulate
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array, pose

# A rigid body of markers about its centroid, with unequal sides so that cameras can identify them [m].
TRIANGLE = np.array([[0.060, -0.030, 0.0], [-0.055, -0.035, 0.0], [-0.005, 0.065, 0.0]])
BURST = 0.2  # mean time that a body stays hidden [s]


class MotionCapture:
    """Cameras in front of one arm.

    Args:
        arm: the observed arm. bodies: links with markers, and "tip". Default: every link up to the insertion.
        T_camera_base: (4, 4) pose of the arm's base in the camera frame. Default: a pose in front of the cameras.
        noise: standard deviation of each coordinate of each marker [m].
        occlusion: fraction of the time that a body is hidden, 0 to 1, in bursts.
        seed: random seed of noise, occlusion and marker positions on the links.
    """

    def __init__(
        self,
        arm: Arm,
        bodies: Sequence[str] | None = None,
        *,
        T_camera_base: ArrayLike | None = None,
        noise: float = 0.0,
        occlusion: float = 0.0,
        seed: int = 0,
    ) -> None:
        if not (np.isfinite(noise) and noise >= 0):
            raise TrocarError(f"noise must be a length >= 0 [m], got {noise!r}")
        if not 0 <= occlusion < 1:
            raise TrocarError(f"occlusion must be a fraction of the time, 0 <= occlusion < 1, got {occlusion!r}")
        self.arm, self.noise, self.occlusion = arm, noise, occlusion
        self._random = np.random.default_rng(seed)
        names = [body.name for body in arm.bodies]
        default = names[: names.index("insertion") + 1] if "insertion" in names else names
        self.bodies = tuple(body for body in default if body != arm.counterweight) if bodies is None else tuple(bodies)
        check_known(f"body of {arm.name}", (*names, "tip"), *self.bodies)
        somewhere = pose(Rotation.from_euler("xyz", [2.0, 0.3, -0.4]).as_matrix(), [0.1, -0.2, 1.8])
        self.T_camera_base = somewhere if T_camera_base is None else np.array(T_camera_base, dtype=float)
        self.T_link_markers = {body: self._mounted(body) for body in self.bodies}

    def observed(self, t: Array, q: Array, T_base_link: Mapping[str, Array]) -> Markers:
        """Observed markers, from true poses (N, 4, 4) of the links in the base, times t and joints q."""
        poses = {}
        for body in self.bodies:
            T = self.T_camera_base @ T_base_link[body] @ self.T_link_markers[body]
            if self.noise:
                T = _from_markers(T, self._random.normal(0.0, self.noise, (len(t), 3, 3)))
            poses[body] = np.where(self._hidden(t)[:, None, None], np.nan, T)
        return Markers(t=t, q=q, joints=self.arm.joint_names, poses=poses, source="synthetic motion capture")

    def of_motion(self, mechanism: Mechanism, t: Array, q: Array) -> Markers:
        """Markers on the ideal mechanism, moved through q (N, n)."""
        return self.observed(t, q, mechanism.poses(q))

    def of_simulation(
        self,
        sim: Simulator,
        controller: Callable[[State, Any], ArrayLike],
        reference: Reference | None,
        duration: float,
        rate: float = 100.0,
    ) -> Markers:
        """Markers on the simulated links while the arm follows a reference; `rate`: frame rate [Hz]."""
        every = max(1, round(1.0 / (rate * sim.timestep)))
        poses: dict[str, list[Array]] = {body: [] for body in self.bodies}
        steps = 0

        def watched(state: State, setpoint: Any) -> ArrayLike:
            nonlocal steps
            if steps % every == 0:
                for body, T in poses.items():
                    T.append(sim.tip_pose() if body == "tip" else sim.body_pose(body))
            steps += 1
            return controller(state, setpoint)

        period = getattr(controller, "period", None)
        if period is not None and abs(period - sim.timestep) > 1e-9 * sim.timestep:
            raise TrocarError("motion capture needs a controller that runs at every step")
        if hasattr(controller, "reset"):
            controller.reset()
        recording = simulate(sim, watched, reference, duration, every=every)
        return self.observed(recording.t, recording.q, {body: np.array(T) for body, T in poses.items()})

    def _mounted(self, body: str) -> Array:
        """The markers' frame on a link: random rotation, in the middle of the link's joints, 3 cm off its plane."""
        R = Rotation.random(rng=self._random).as_matrix()
        joints = np.zeros((1, 3)) if body == "tip" else _joints_on(self.arm, body)
        return pose(R, joints.mean(0) + [0.0, 0.0, 0.03])

    def _hidden(self, t: Array) -> Array:
        """Mask (N,) of hidden rows: a two-state Markov chain with bursts of `BURST`."""
        hidden = np.zeros(len(t), dtype=bool)
        if not self.occlusion or len(t) < 2:
            return hidden
        leave = min(1.0, float(np.median(np.diff(t))) / BURST)
        enter = leave * self.occlusion / (1.0 - self.occlusion)
        draws = self._random.uniform(size=len(t))
        hidden[0] = draws[0] < self.occlusion
        for k in range(1, len(t)):
            hidden[k] = draws[k] >= leave if hidden[k - 1] else draws[k] < enter
        return hidden


def poses_at_rest(sim: Simulator, bodies: Sequence[str], q: Array) -> dict[str, Array]:
    """True poses (N, 4, 4) of links in the base, with the arm at rest at each q (N, n), for `MotionCapture.observed`.

    On an elastic mount, the poses include its static deflection.
    """
    poses: dict[str, list[Array]] = {body: [] for body in bodies}
    for row in q:
        sim.place(row)
        for body, T in poses.items():
            T.append(sim.tip_pose() if body == "tip" else sim.body_pose(body))
    return {body: np.array(T) for body, T in poses.items()}


def _joints_on(arm: Arm, body: str) -> Array:
    """Points (k, 3) at which a link is joined to others, in the link frame [m]."""
    points = [np.zeros(3)]
    points += [child.placement[:3, 3] for child in arm.bodies if child.parent == body and child.kind == "revolute"]
    for loop in arm.loops:
        for name, point in ((loop.body_a, loop.point_a), (loop.body_b, loop.point_b)):
            if name == body:
                points.append(np.array(point))
    # coincident joints count as one point
    _, first = np.unique(np.round(np.array(points), 9), axis=0, return_index=True)
    return np.array(points)[np.sort(first)]


def _from_markers(T: Array, error: Array) -> Array:
    """Poses (N, 4, 4) that best fit the markers observed with errors (N, 3, 3) [m] (Kabsch)."""
    seen = TRIANGLE @ np.swapaxes(T[:, :3, :3], 1, 2) + T[:, None, :3, 3] + error
    centre, middle = seen.mean(1), TRIANGLE.mean(0)
    U, _, Vt = np.linalg.svd(np.einsum("nki,kj->nij", seen - centre[:, None], TRIANGLE - middle))
    flip = np.ones((len(T), 3))
    flip[:, 2] = np.linalg.det(U @ Vt)
    fitted = np.array(T)
    fitted[:, :3, :3] = (U * flip[:, None]) @ Vt
    fitted[:, :3, 3] = centre - fitted[:, :3, :3] @ middle
    return fitted
