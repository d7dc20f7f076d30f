"""Success rates of the skills of suturing over random seeds.

    python -m tools.surgery_campaign bite 0 30          # bite, regrasp and pull through, seeds 0 to 29
    python -m tools.surgery_campaign wound 0 50          # bite both flaps, regrasp, pull, tighten
    python -m tools.surgery_campaign handover 0 100 handover.jsonl

Prints a line per seed and the rates with Clopper-Pearson intervals of 95 %. With a file, each seed is appended to it as
a line of JSON, and seeds that it holds already are not run again. The real-time factor is simulated time over
CPU time of the process, controllers in Python included.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

from trocar.errors import TrocarError
from trocar.simulation import Piercing
from trocar.simulation.objects.solid import NEEDLE_SIZES
from trocar.simulation.skills import (
    Hands,
    bite,
    close_wound,
    hand_over,
    handover_scene,
    plan_handover,
    pull_through,
    regrasp,
    suture_scene,
    wound_scene,
    wound_width,
)

ARM, EFFORT = "PSM1", 0.12  # [N m]
MEETING = np.array([0.0, 0.0, -0.13])  # [m]


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """Random depth, grip, friction and tissue, as arguments of `suture_scene` and `wound_scene`."""
    cut = rng.uniform(0.2, 0.6)
    law = Piercing(
        puncture=rng.uniform(0.5, 1.2),
        cut=cut,
        exit=cut + rng.uniform(0.1, 0.4),
        drag=rng.uniform(10.0, 40.0),
        thread_drag=rng.uniform(4.0, 15.0),
    )
    return {
        "friction": rng.uniform(0.5, 0.9),
        "height": rng.uniform(4.5e-3, 6.5e-3),
        "grip_angle": np.radians(rng.uniform(-64.0, -52.0)),
        "piercing": law,
        "young": float(np.exp(rng.uniform(np.log(2e4), np.log(1e5)))),
    }


def stitch(rng: np.random.Generator) -> dict[str, object]:
    """One stitch with random depth, grip, tissue and friction: bite, regrasp, and thread pulled through."""
    arguments = drawn(rng)
    scene = suture_scene(**arguments)
    hands = Hands(scene)
    outcome: dict[str, object] = {"through": False, "whole": False, "friction": arguments["friction"]}
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


def wound(rng: np.random.Generator) -> dict[str, object]:
    """One wound, 1 to 3 mm wide, closed by a stitch with a stopper at 1 N or less."""
    arguments = drawn(rng)
    arguments["piercing"] = replace(arguments["piercing"], spacing=2e-3)
    scene = wound_scene(gap=rng.uniform(1e-3, 3e-3), **arguments)
    width, hands = wound_width(scene), Hands(scene)
    hands.close(ARM, EFFORT, 0.4)
    outcome: dict[str, object] = {"young": arguments["young"], "friction": arguments["friction"], "gap_mm": 1e3 * width}
    try:
        result = close_wound(hands, ARM, EFFORT)
    except TrocarError as error:
        return outcome | {"error": str(error)[:100], "unconverged": scene.unconverged, "simulated": scene.time}
    tight = result.tightening
    events = [event.what for event in result.bite.events]
    if tight is not None and len(tight.width):
        outcome |= {
            "closed_at": tight.closed_at,
            "tension": float(tight.tension[-1]),
            "width_mm": float(1e3 * tight.width[-1]),
        }
    parts = [part for part in (result.bite, result.regrasp, result.pull, tight) if part is not None]
    return outcome | {
        "through": events.count("exit") == 2,
        "closed": result.closed,
        "held": [part.held for part in parts],
        "peak": result.bite.peak,
        "unconverged": scene.unconverged,
        "simulated": scene.time,
    }


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
        "slip_um": float(1e6 * result.slip),
        "turn_deg": float(np.degrees(result.turn)),
        "unconverged": result.unconverged,
        "simulated": scene.time,
    }


TASKS = {
    "bite": (stitch, ("through", "whole")),
    "wound": (wound, ("through", "closed")),
    "handover": (handover, ("held", "strict")),
}


def run(trial: Callable[[np.random.Generator], dict[str, object]], seed: int) -> dict[str, object]:
    """The outcome of one seed, with its real-time factor."""
    start = time.process_time()
    try:
        outcome = trial(np.random.default_rng(seed))
    except TrocarError as error:
        return {"error": str(error)[:100]}
    return outcome | {"real_time_factor": float(str(outcome["simulated"])) / (time.process_time() - start)}


def main() -> None:
    """Run a task over seeds."""
    task, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    file = Path(sys.argv[4]) if len(sys.argv) > 4 else None
    trial, criteria = TASKS[task]
    warnings.simplefilter("ignore")
    earlier = [json.loads(line) for line in file.read_text().splitlines()] if file and file.exists() else []
    outcomes = {row["seed"]: row for row in earlier if row["task"] == task}
    for seed in range(first, last):
        if seed in outcomes:
            continue
        outcomes[seed] = run(trial, seed)
        line = json.dumps({"task": task, "seed": seed} | outcomes[seed])
        print(line, flush=True)
        if file:
            with file.open("a") as stream:
                stream.write(line + "\n")
    chosen, n = [outcomes[seed] for seed in range(first, last)], last - first
    for name in criteria:
        k = sum(bool(outcome.get(name)) for outcome in chosen)
        low = 0.0 if k == 0 else beta.ppf(0.025, k, n - k + 1)
        high = 1.0 if k == n else beta.ppf(0.975, k + 1, n - k)
        print(f"{name}: {k} of {n} ({low:.1%} to {high:.1%})")
    factors = [outcome["real_time_factor"] for outcome in chosen if "real_time_factor" in outcome]
    if factors:
        print(f"real-time factor: median {np.median(factors):.2f}, lowest {min(factors):.2f}")


if __name__ == "__main__":
    main()
