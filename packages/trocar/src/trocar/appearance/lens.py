"""A camera's optics: pinhole and lens distortion. Optical frame: x right, y down, z away; pixels count from centres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trocar.errors import TrocarError
from trocar.spatial import Array

Distortion = tuple[float, float, float, float, float]
UNDISTORTED: Distortion = (0.0, 0.0, 0.0, 0.0, 0.0)
ITERATIONS, SETTLED = 50, 1e-14  # of the inverse of the distortion; convergence in normalised coordinates


@dataclass(frozen=True, kw_only=True)
class Lens:
    """Intrinsics of one camera.

    Attributes:
        width, height: [pixels]. fx, fy: focal lengths, cx, cy: principal point [pixels].
        distortion: radial k1, k2, tangential p1, p2, radial k3 (Brown-Conrady, in OpenCV's order).
    """

    width: int = 640
    height: int = 480
    fx: float = 554.0
    fy: float = 554.0
    cx: float = 319.5
    cy: float = 239.5
    distortion: Distortion = UNDISTORTED

    def __post_init__(self) -> None:
        if min(self.width, self.height) < 1 or (self.width, self.height) != (int(self.width), int(self.height)):
            raise TrocarError(f"a lens needs a whole number of pixels, got {self.width} x {self.height}")
        values = np.array([self.fx, self.fy, self.cx, self.cy])
        if not np.isfinite(values).all() or min(self.fx, self.fy) <= 0:
            raise TrocarError(f"focal lengths must be positive and the principal point finite [pixels], got {values}")
        if len(self.distortion) != 5 or not np.isfinite(self.distortion).all():
            raise TrocarError(f"distortion must be five finite numbers k1, k2, p1, p2, k3, got {self.distortion!r}")

    @classmethod
    def of_view(cls, angle: float, width: int = 640, height: int = 480, distortion: Distortion = UNDISTORTED) -> Lens:
        """A pinhole with square pixels, a centred axis and a horizontal angle of view [rad]."""
        if not 0 < angle < np.pi:
            raise TrocarError(f"a pinhole's angle of view must be between 0 and pi [rad], got {angle!r}")
        f = float(width / 2 / np.tan(angle / 2))
        cx, cy = (width - 1) / 2, (height - 1) / 2
        return cls(width=width, height=height, fx=f, fy=f, cx=cx, cy=cy, distortion=distortion)

    @property
    def K(self) -> Array:
        """Intrinsics matrix (3, 3) [pixels]."""
        return np.array([[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]])

    @property
    def distorted(self) -> bool:
        return any(self.distortion)

    def project(self, points: ArrayLike) -> Array:
        """Pixels (..., 2) of points (..., 3) in the optical frame [m]; nan for those not in front of it."""
        p = np.asarray(points, dtype=float)
        z = np.where(p[..., 2:] > 0, p[..., 2:], np.nan)
        return self.distort(p[..., :2] / z) * [self.fx, self.fy] + [self.cx, self.cy]

    def rays(self, pixels: ArrayLike) -> Array:
        """Directions (..., 3) with z = 1 in the optical frame that pixels (..., 2) look along."""
        x = self.undistort((np.asarray(pixels, dtype=float) - [self.cx, self.cy]) / [self.fx, self.fy])
        return np.concatenate([x, np.ones((*x.shape[:-1], 1))], axis=-1)

    def distort(self, x: Array) -> Array:
        """Normalised coordinates (..., 2) behind the lens for coordinates x / z, y / z in front of it."""
        _, _, p1, p2, _ = self.distortion
        a, b = x[..., 0], x[..., 1]
        r2, radial = self._radial(a, b)
        shift_a, shift_b = 2 * p1 * a * b + p2 * (r2 + 2 * a * a), p1 * (r2 + 2 * b * b) + 2 * p2 * a * b
        return np.stack([a * radial + shift_a, b * radial + shift_b], axis=-1)

    def undistort(self, x: Array) -> Array:
        """The inverse of `distort`; raises an error for coordinates that no ray reaches."""
        if not self.distorted:
            return x
        undistorted = np.array(x, dtype=float)
        for _ in range(ITERATIONS):
            left = self.distort(undistorted) - x
            if np.abs(left).max() < SETTLED:
                return undistorted
            # the radial part's stretch across the radius: a good first guess of the slope
            undistorted = undistorted - left / self._radial(undistorted[..., 0], undistorted[..., 1])[1][..., None]
        if np.abs(self.distort(undistorted) - x).max() > 1e-9:
            raise TrocarError(f"the distortion {self.distortion} cannot be undone over the whole image: it folds over")
        return undistorted

    def _radial(self, a: Array, b: Array) -> tuple[Array, Array]:
        """Squared distance (...) of normalised coordinates from the axis, and the radial factor there."""
        k1, k2, _, _, k3 = self.distortion
        r2 = a * a + b * b
        return r2, 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
