"""Hwang et al. 2020: joints of a real PSM, commanded and seen by a camera, explained by elastic cables and friction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trocar.identification.wrist import (
    IdentifiedWrist,
    JointPairs,
    WristScore,
    held_out_scores,
    identify_wrist,
    score,
)
from trocar.identification.wrist.figures import HEADINGS, loop_figure, score_row
from trocar.identification.wrist.fit import WRIST, MotionRows
from trocar.mechanics import CableWrist, Mechanism, load_mechanism
from trocar.report import Claim, Report
from trocar.report.claim_table import ClaimTable
from trocar.report.success_rate import clopper_pearson
from trocar_reproductions.experiment import NO_DATA, Context, Experiment
from trocar_reproductions.hwang2020 import across_motions, compensated, peg_transfer, play_polynomial, slow_motion

TABLE = ClaimTable("trocar_reproductions.hwang2020")
FOLDER = Path("dvrkCalibration/experiment")
FITTED = {
    **{f"exp{k}": f"2_error_identification/exp{k}" for k in range(1, 6)},
    "random": "3_training/random/unfiltered",
}
KEPT_APART = {
    "peg_transfer": "3_training/peg_transfer",
    "pick_place": "3_training/pick_place",
    "random_traj_user": "4_verification/result/random_traj_user/wo_model",
    "hyperparameter": "4_verification/hyperparameter/wo_model",
}
SINGLE = ("exp3", "exp4", "exp5")  # motions of one joint each
COUNT, QUICK = 100, 20  # commands in the engine; in a quick run
TRANSFERS, QUICK_TRANSFERS = 8, 2  # of pegs, open loop and compensated; in a quick run


def run(context: Context) -> Report:
    """Their error before and after calibration, beside cables fitted to their joints; fits and held-out rows apart."""
    report = Report("Hwang et al. 2020: the wrist behind its cables")
    motions = {name: _motion(context.data, name, path) for name, path in FITTED.items()}
    missing = next((motion for motion in motions.values() if isinstance(motion, str)), None)
    if missing is not None:
        report.add_claims(claim for name in TABLE.entries for claim in TABLE.claims(name, missing))
        return report
    known = [motion for motion in motions.values() if isinstance(motion, JointPairs)]
    mechanism = load_mechanism("PSM")
    wrist = identify_wrist(known, mechanism, "hwang2020", "Hwang et al. 2020", context.progress)
    fitted = [score(motion, wrist.cables, wrist.registration, mechanism) for motion in known]
    folds = held_out_scores(wrist, mechanism)
    held_out = [_mean([fold for fold in folds if fold.name == motion.name]) for motion in known]
    report.paragraphs.append(TABLE.text("model"))
    report.add_table("Fitted", HEADINGS, [score_row(s) for s in fitted])
    report.add_table("Held out", HEADINGS, [score_row(s) for s in held_out])
    report.add_table(
        "Held out, all offsets: polynomial with play operators, 258 numbers",
        ("motion", "tip"),
        _polynomial(wrist, mechanism),
    )
    apart, polynomial = across_motions.left_out(known, mechanism, context.progress)
    report.add_table("Fitted to the other motions only", HEADINGS, [score_row(s) for s in apart])
    report.add_table(
        "Fitted to the other motions only, all offsets: polynomial with play operators",
        ("motion", "tip"),
        [(motion.name, f"{1e3 * error:.3f}") for motion, error in zip(known, polynomial, strict=True)],
    )
    ratios = [s.own / error for s, error in zip(apart, polynomial, strict=True)]
    name = "other motions only, tip error over that of the polynomial, mean"
    worst = int(np.argmax(ratios))
    report.add_claims([TABLE.claim(name, float(np.mean(ratios)), worst=known[worst].name, most=ratios[worst])])
    report.add_claims(_error_claims(fitted[-1], held_out))
    report.add_claims(_cable_claims(wrist))
    context.progress("slow motion in the engine")
    report.add_claims(_engine_claims(context, wrist, [motion for motion in known if motion.name in SINGLE]))
    context.progress("compensation")
    report.add_claims(_compensation_claims(wrist, known[-1], mechanism))
    report.add_claims(_peg_claims(context))
    context.progress("motions kept apart")
    kept = [_motion(context.data, name, path) for name, path in KEPT_APART.items()]
    scores = [m if isinstance(m, str) else score(m, wrist.cables, wrist.registration, mechanism) for m in kept]
    rows = [score_row(s) for s in scores if isinstance(s, WristScore)]
    if rows:
        report.add_table("Kept apart", HEADINGS, rows)
    ours = [s if isinstance(s, str) else 1e3 * s.registered for s in scores]
    report.add_claims(TABLE.claims("kept apart, tip error/{row}", ours))
    shown = [motion for motion in known if motion.name in SINGLE]
    report.add_figure(loop_figure(shown, wrist.cables), TABLE.text("loops"))
    return report


def _motion(data: Path | None, name: str, path: str) -> JointPairs | str:
    """A published motion, or the reason why it is missing."""
    if data is None:
        return NO_DATA
    folder = data / FOLDER / path
    if not folder.is_dir():
        return f"not run: {(FOLDER / path).as_posix()} is not in the data folder"
    motion = JointPairs.load(folder)
    return JointPairs(name=name, command=motion.command, seen=motion.seen)


def _mean(scores: Sequence[WristScore]) -> WristScore:
    """Mean over the parts of one motion, by their rows; residuals by their squares."""
    rows = np.array([s.rows for s in scores])
    names = ("raw", "offset", "wrist", "registered", "own")
    tip = {name: float(np.average([getattr(s, name) for s in scores], weights=rows)) for name in names}
    residual = np.sqrt(np.average([s.residual**2 for s in scores], axis=0, weights=rows))
    return WristScore(name=scores[0].name, rows=int(rows.sum()), residual=residual, **tip)


def _polynomial(wrist: IdentifiedWrist, mechanism: Mechanism) -> list[tuple[str, str]]:
    """Held-out tip error [mm] of the polynomial on every motion: fitted without the part that is judged."""
    errors: dict[str, list[tuple[float, int]]] = {}
    motions = list(dict.fromkeys(fold.held_out.motion.name for fold in wrist.folds))
    for k in range(0, len(wrist.folds), len(motions)):
        parts = [fold.held_out for fold in wrist.folds[k : k + len(motions)]]
        coefficients = play_polynomial.fitted([MotionRows(motion, ~used) for motion, used in parts])
        for motion, used in parts:
            error = across_motions.tip_error(motion, coefficients, mechanism, used)
            errors.setdefault(motion.name, []).append((error, int(used.sum())))
    means = {name: np.sum(np.prod(values, axis=1)) / np.sum(values, axis=0)[1] for name, values in errors.items()}
    return [(name, f"{1e3 * mean:.3f}") for name, mean in means.items()]


def _error_claims(fitted: WristScore, held_out: Sequence[WristScore]) -> list[Claim]:
    last = held_out[-1]
    before, after = "random/tip error before calibration", "random/tip error after calibration, held out"
    return [
        TABLE.claim(before, None, raw=1e3 * fitted.raw, offset=1e3 * fitted.offset),
        TABLE.claim(after, 1e3 * last.registered, wrist=1e3 * last.wrist),
        *TABLE.claims(
            "held out, tip error over that of the commanded joints/{row}", [s.registered / s.raw for s in held_out]
        ),
        *TABLE.claims("held out, wrist residual of random/{row}", (1e3 * last.residual).tolist()),
    ]


def _cable_claims(wrist: IdentifiedWrist) -> list[Claim]:
    ratio = np.maximum(wrist.friction_ratio, 1.0 / wrist.friction_ratio)[1:]
    least = float(np.linalg.eigvalsh(wrist.cables.stiffness).min())
    return [
        TABLE.claim("cables/stiffness is positive definite", least),
        *TABLE.claims("cables/friction over that of Wang et al. 2019/{row}", ratio.tolist()),
    ]


def _engine_claims(context: Context, wrist: IdentifiedWrist, motions: Sequence[JointPairs]) -> list[Claim]:
    counts = [QUICK if context.quick else COUNT] * len(motions)
    off = [1e3 * slow_motion.difference(m, wrist.cables, count) for m, count in zip(motions, counts, strict=True)]
    return TABLE.claims("engine/slow motion follows the law/{row}", off, count=counts)


def _compensation_claims(wrist: IdentifiedWrist, motion: JointPairs, mechanism: Mechanism) -> list[Claim]:
    law, goal = CableWrist(wrist.cables), motion.command[:, WRIST]
    start = law.relaxed(goal[0])
    commands, _ = law.compensated(goal, start)
    off = float(np.abs(law.rest(commands, start).q - goal).max())
    opened, exact, others = compensated.law_errors(motion, wrist.cables, mechanism)
    shares = [exact / opened, float(np.mean(others)) / opened]
    return [
        TABLE.claim("compensation/rest positions of the compensated commands of random", off),
        *TABLE.claims(
            "compensation/tip error over that of the open loop/{row}",
            shares,
            opened=1e3 * opened,
            mean=[1e3 * exact, 1e3 * float(np.mean(others))],
        ),
    ]


def _peg_claims(context: Context) -> list[Claim]:
    """Transfers by dead reckoning on a board of the FLS."""
    count = QUICK_TRANSFERS if context.quick else TRANSFERS
    placed, low, high = [], [], []
    for row, options in peg_transfer.ROBOTS.items():
        context.progress(f"{count} peg transfers, {row}")
        trials = [peg_transfer.TransferTrial("FLS", seed, **options).run() for seed in range(count)]
        placed.append(sum(trial.placed for trial in trials))
        interval = clopper_pearson(placed[-1], count)
        low.append(100 * interval[0])
        high.append(100 * interval[1])
    rate = [100 * k / count for k in placed]
    return [
        *TABLE.claims("peg transfer/success {row}", None, rate=rate, count=count, low=low, high=high),
        TABLE.claim("peg transfer/transfers that compensation adds", rate[1] - rate[0], count=count),
    ]


EXPERIMENT = Experiment(name="hwang2020", title="Wrist behind elastic cables: commanded and seen joints", run=run)
