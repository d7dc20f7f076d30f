"""Effect of model errors on the gravity compensation of a PSM_Si: the table of docs/gravity_compensation.md.

python -m tools.gravity_sensitivity
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trocar.mechanics import Mechanism, load_mechanism
from trocar.spatial import Array
from trocar_reproductions.zhou2025 import runs


@dataclass(frozen=True)
class Wrong:
    """An error of the model: its name, the share of poses at which the arm stays still, error over half-band (N, 3)."""

    name: str
    held: float
    used: Array


def sensitivity(model: Mechanism, poses: int = 2000) -> list[Wrong]:
    """Errors of a model relative to the static friction band of the true arm, here the model without them."""
    arm = model.arm
    q = np.random.default_rng(0).uniform(arm.lower, arm.upper, (poses, arm.n))
    true, band = runs.holding(model, q), runs.static_band(model, q)
    K0 = model.drives.constant[:3]

    def held(parameters: str = runs.MODEL, **option: Any) -> Array:
        return runs.holding(load_mechanism(runs.ARM, parameters, **option), q)

    cases = {
        "links 10 % too light": 0.9 * (true - K0) + K0,
        "links 10 % too heavy": 1.1 * (true - K0) + K0,
        **{f"instrument {1e3 * mass:+.0f} g": held(added_mass=mass) for mass in (0.1, -0.1, 0.3)},
        **{f"mounting {pitch:+.0f} deg": held(mounting=np.radians(pitch)) for pitch in (5.0, -5.0, -45.0)},
        "the dVRK's masses": held("saw"),
        "no compensation": np.zeros_like(true),
    }
    used = {name: np.abs(tau - true) / band for name, tau in cases.items()}
    return [Wrong(name, float((share <= 1.0).all(-1).mean()), share) for name, share in used.items()]


if __name__ == "__main__":
    for row in sensitivity(load_mechanism(runs.ARM, runs.MODEL)):
        print(f"{row.name}: {row.held:.0%} of poses at rest")
