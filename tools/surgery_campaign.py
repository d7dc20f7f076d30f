"""Success rates of the skills of suturing over random seeds.

    python -m tools.surgery_campaign bite 0 30          # bite, regrasp and pull through, seeds 0 to 29
    python -m tools.surgery_campaign handover 0 60

Prints a line per seed and the rates with Clopper-Pearson intervals of 95 %. The real-time factor is simulated time over
CPU time of the process, controllers in Python included.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy.stats import beta

from trocar.errors import TrocarError
from trocar.simulation import Piercing
from trocar.simulation.objects.solid import NEEDLE_SIZES
from trocar.simulation.skills import (
    Hands,
    bite,
    hand_over,
    handover_scene,
    plan_handover,
    pull_through,
    regrasp,
    suture_scene,
)

ARM, EFFORT = "PSM1", 0.12  # [N m]
MEETING = np.array([0.0, 0.0, -0.13])  # [m]


def stitch(rng: np.random.Generator) -> dict[str, object]:
    """One stitch with random depth, grip, tissue and friction: bite, regrasp, and thread pulled through."""
    cut = rng.uniform(0.2, 0.6)
    law = Piercing(
        puncture=rng.uniform(0.5, 1.2),
        cut=cut,
        exit=cut + rng.uniform(0.1, 0.4),
        drag=rng.uniform(10.0, 40.0),
        thread_drag=rng.uniform(4.0, 15.0),
    )
    friction = rng.uniform(0.5, 0.9)
    scene = suture_scene(
        height=rng.uniform(4.5e-3, 6.5e-3),
        grip_angle=np.radians(rng.uniform(-64.0, -52.0)),
        friction=friction,
        piercing=law,
        young=float(np.exp(rng.uniform(np.log(2e4), np.log(1e5)))),
    )
    hands = Hands(scene)
    outcome: dict[str, object] = {"through": False, "whole": False, "friction": friction}
    hands.close(ARM, EFFORT, 0.4)
    first = bite(hands, ARM)
    outcome |= {
        "through": all(first.happened(what) for what in ("puncture", "entry", "exit")),
        "peak": first.peak,
        "mean": first.mean,
    }
    try:
        second, third = regrasp(hands, ARM, EFFORT), pull_through(hands, ARM)
    except TrocarError as error:
        return outcome | {"error": str(error)[:100], "unconverged": scene.unconverged, "simulated": scene.time}
    pulled = third.passed - NEEDLE_SIZES["SH"][0]
    outcome |= {
        "whole": bool(outcome["through"]) and third.held and pulled > 0.03,
        "pulled_mm": 1e3 * pulled,
        "tension": third.tension,
        "held": (first.held, second.held, third.held),
    }
    return outcome | {"unconverged": scene.unconverged, "simulated": scene.time}


def handover(rng: np.random.Generator) -> dict[str, object]:
    """One handover with a random grip and meeting point."""
    scene = handover_scene(
        grip_angle=rng.uniform(np.radians(25.0), np.radians(65.0)),
        approach=rng.choice([-1, 1]) * np.pi / 2 + rng.uniform(-0.3, 0.3),
        side=int(rng.choice([-1, 1])),
    )
    hands = Hands(scene)
    hands.close(ARM, 0.05, 0.4)
    plan = plan_handover(hands, ARM, "PSM2", MEETING + rng.uniform(-0.012, 0.012, 3), rng)
    result = hand_over(hands, ARM, "PSM2", plan)
    strict = bool(result.held and result.slip < 1e-3 and result.turn < np.radians(10.0))
    return {
        "held": result.held,
        "strict": strict,
        "slip_um": 1e6 * result.slip,
        "turn_deg": float(np.degrees(result.turn)),
        "unconverged": result.unconverged,
        "simulated": scene.time,
    }


TASKS = {"bite": (stitch, ("through", "whole")), "handover": (handover, ("held", "strict"))}


def main() -> None:
    """Run a task over seeds."""
    task, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    trial, criteria = TASKS[task]
    warnings.simplefilter("ignore")
    successes, factors = dict.fromkeys(criteria, 0), []
    for seed in range(first, last):
        start = time.process_time()
        try:
            outcome = trial(np.random.default_rng(seed))
            factors.append(float(str(outcome["simulated"])) / (time.process_time() - start))
            outcome["real_time_factor"] = factors[-1]
        except TrocarError as error:
            outcome = {"error": str(error)[:100]}
        for name in criteria:
            successes[name] += bool(outcome.get(name))
        shown = {k: round(v, 3) if isinstance(v, float) else v for k, v in outcome.items()}
        print(seed, shown, flush=True)
    n = last - first
    for name, k in successes.items():
        low = 0.0 if k == 0 else beta.ppf(0.025, k, n - k + 1)
        high = 1.0 if k == n else beta.ppf(0.975, k + 1, n - k)
        print(f"{name}: {k} of {n} ({low:.1%} to {high:.1%})")
    print(f"real-time factor: median {np.median(factors):.2f}, lowest {min(factors):.2f}")


if __name__ == "__main__":
    main()
