"""Zhou et al. 2025: gravity compensation of the dVRK-Si PSM, Tables I and II, simulated.

The simulated arm is derived from the non-drift bounds measured in Table II (set zhou2025_measured). The authors'
identified model (set zhou2025) compensates it. Their code was not released.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trocar.arms.tables import read
from trocar.control import GravityCompensation
from trocar.identification.si import gravity as si
from trocar.identification.si.gravity import StaticTable, coefficients, gravity_regressor
from trocar.mechanics import Mechanism, load_mechanism
from trocar.report import Claim, Report
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array
from trocar_reproductions.experiment import Context, Experiment
from trocar_reproductions.zhou2025 import figures, other_arms, printed, runs
from trocar_reproductions.zhou2025.other_arms import COLUMNS, ClosedLoop
from trocar_reproductions.zhou2025.printed import KP, TABLE

JOINTS, UNITS, PRINTED = ("J1", "J2", "J3"), ("N m", "N m", "N"), ("deg", "deg", "mm")
RESOLUTION = 0.03  # resolution of the search for bounds [N m, N]


def run(context: Context) -> Report:
    """Tables I and II, and the procedure of identification."""
    report = Report("Zhou et al. 2025: gravity compensation of the dVRK-Si PSM")
    table, model, truth = si.table_two(), load_mechanism(runs.ARM, runs.MODEL), load_mechanism(runs.ARM, runs.TRUTH)
    poses = range(1, 4, 2) if context.quick else range(5)
    context.progress("Table I: kinematics and list of parameters")
    report.add_claims(printed.frame_claims(truth) + printed.kinematic_claims(truth, table))
    context.progress("Table II: consistency, and gravity fitted to it")
    report.add_claims(
        printed.consistency_claims(table) + printed.midpoint_claims(table) + printed.gravity_claims(table, model)
    )
    context.progress("Table II: drift tests")
    report.add_claims(drift_claims(report, table, model, poses))
    context.progress("Table II: non-drift bounds by bisection")
    report.add_claims(bound_claims(report, table, model, poses))
    context.progress("without compensation")
    report.add_claims(fall_claims(table, model, poses))
    context.progress("identify, then compensate")
    loops = [
        other_arms.close_loop(seed, table.q[-2 if context.quick else 0 :])
        for seed in range(1 if context.quick else other_arms.ARMS)
    ]
    report.add_claims(loop_claims(loops))
    report.add_figure(figures.loop(loops, other_arms.MOUNTINGS), TABLE.text("loop"))
    report.paragraphs.append(loop_paragraph(loops))
    report.paragraphs[:0] = paragraphs(table, model)
    return report


# -- Table II simulated -----------------------------------------------------------------------------------------------
def drift_claims(report: Report, table: StaticTable, model: Mechanism, poses: Sequence[int]) -> list[Claim]:
    sim = Simulator(runs.ARM, runs.TRUTH, timestep=1.0 / runs.RATE, contacts=False)
    compensation = GravityCompensation(model)
    side = np.where(table.PD_torque > table.middle, 1.0, -1.0)  # the approach side implied by the printed PD torque
    as_written = {k: runs.drift_test(table.q[k], side[k], compensation, feed_forward=False, sim=sim) for k in poses}
    with_PD = {k: runs.drift_test(table.q[k], side[k], compensation, feed_forward=True, sim=sim) for k in poses}
    falls = {k: runs.fall(sim, table.q[k]) for k in poses}
    report.add_figure(figures.drift(as_written, falls), TABLE.text("drift"))
    report.add_figure(figures.errors(table, as_written, with_PD), TABLE.text("errors"))
    drifts = np.array([[test.drift for test in tests.values()] for tests in (as_written, with_PD)]).max(1)
    claims = TABLE.claims("drift, {row}", (runs.PRINTED_UNITS * drifts).T.ravel(), count=len(poses))
    alone, compensated = (np.array([np.abs(tests[k].PD_error) for k in poses]) for tests in (as_written, with_PD))
    shaken = [runs.steady_error(table.q[k], side[k], compensation, sim=sim, shaken=True) for k in poses]
    claims += error_claims(table, alone, compensated, np.abs(shaken))
    ours = np.array([runs.PRINTED_UNITS * np.abs(as_written[k].PD_error) for k in poses])
    theirs = table.PD_error[list(poses)]
    remark = "; ".join(f"{JOINTS[j]} {np.abs(ours[:, j] - theirs[:, j]).max():.2f} {PRINTED[j]}" for j in range(3))
    report.paragraphs.append(TABLE.text("PD error", remark=remark))
    return claims


def error_claims(table: StaticTable, alone: Array, compensated: Array, shaken: Array) -> list[Claim]:
    """Entries in which compensation reduces the steady error, evaluated for all five poses only.

    alone, compensated, shaken: absolute errors (poses, 3) [rad, rad, m] of PD, of PD with compensation, and of the
    latter if the approach ends with a decaying oscillation.
    """
    reason = "" if len(alone) == len(table.q) else "not run: over all five poses only"
    total, better = alone.size, int((compensated < alone).sum())
    name, kp = "error, PD with GC below PD alone", np.array(KP) / runs.PRINTED_UNITS
    in_print = int((table.GC_error < table.PD_error).sum())
    fields: dict[str, Any] = {"total": total}
    if not reason:
        fields["ours_at"] = float((runs.PRINTED_UNITS * compensated * kp / table.half_band).mean())
        fields["printed_at"] = float((table.GC_error * kp / table.half_band).mean())
        fields["shaken"] = int((shaken < alone).sum())
    return [
        TABLE.claim(name, reason or better, published=total // 2 + 1, **fields),
        TABLE.claim(f"{name}, as often as printed", reason or better, published=in_print, **fields),
    ]


def bound_claims(report: Report, table: StaticTable, model: Mechanism, poses: Sequence[int]) -> list[Claim]:
    sim = runs.still_simulator()
    ends = np.full((5, 3, 2), np.nan)
    for k in poses:
        q = runs.straight(table.q[k])
        tau = model.gravity(q)
        for j in range(3):
            ends[k, j] = [runs.bound(sim, q, tau, j, direction, RESOLUTION) for direction in (-1, 1)]
    compensation = runs.holding(model, runs.straight(table.q))
    report.add_figure(figures.bounds(table, ends, compensation), TABLE.text("bounds"))
    rows = list(poses)
    off = np.abs(ends - np.stack([table.lower, table.upper], axis=-1))[rows].max(0)
    claims = TABLE.claims("non-drift bounds, {row}", off.ravel(), count=len(rows), resolution=RESOLUTION)
    total = 3 * len(rows)
    brackets = (ends[rows, :, 0] < table.GC_torque[rows]) & (table.GC_torque[rows] < ends[rows, :, 1])
    bracket = "non-drift bounds/bracket the printed GC torque"
    return [*claims, TABLE.claim(bracket, brackets.sum(), published=total, total=total)]


def fall_claims(table: StaticTable, model: Mechanism, poses: Sequence[int]) -> list[Claim]:
    sim = runs.still_simulator()
    fell, expected = 0, int((~((table.lower <= 0) & (table.upper >= 0)))[list(poses)].sum())
    for k in poses:
        q = runs.straight(table.q[k])
        fell += sum(runs.moves(sim, q, model.gravity(q), j, 0.0) for j in range(3))
    return [TABLE.claim("without compensation/joints that fall", fell, published=expected, total=3 * len(poses))]


# -- other arms --------------------------------------------------------------------------------------------------------
def loop_claims(loops: Sequence[ClosedLoop]) -> list[Claim]:
    claims: list[Claim] = []
    for k, columns in enumerate(COLUMNS):
        worst, drift = (
            np.max([getattr(loop.models[k], name) for loop in loops], axis=0) for name in ("worst", "drift")
        )
        fields: dict[str, Any] = {"columns": columns, "arms": len(loops), "remark": "" if k else lacking_columns(loops)}
        claims += TABLE.claims("identify and compensate, {columns}/error over friction/{row}", worst.max(0), **fields)
        claims += TABLE.claims("identify and compensate, {columns}/drift/{row}", runs.PRINTED_UNITS * drift, **fields)
    return claims


def lacking_columns(loops: Sequence[ClosedLoop]) -> str:
    """Causes of the errors with the columns of Table I: the results with columns that it lacks."""
    worst = [np.max([loop.added[k] for loop in loops], axis=(0, 1)) for k in range(len(other_arms.ADDED))]
    load, complete = (", ".join(f"{x:.2f}" for x in row) for row in worst)
    return TABLE.text("lacking", load=load, complete=complete)


def loop_paragraph(loops: Sequence[ClosedLoop]) -> str:
    fits = [[loop.models[k].identified for loop in loops] for k in range(len(COLUMNS))]
    errors = [np.mean([identified.train_relative_error[:3] for identified in column], axis=0) for column in fits]
    listed = (f"{name} {', '.join(f'{e:.3f}' for e in row)}" for name, row in zip(COLUMNS, errors, strict=True))
    return TABLE.text("fits", arms=len(loops), listed="; ".join(listed))


def paragraphs(table: StaticTable, model: Mechanism) -> list[str]:
    fit, friction, one = si.identified(), si.static_friction(), read("identification_zhou2025")
    constants = ", ".join(f"{o:.3f} {u}" for o, u in zip(fit.K0, UNITS, strict=True))
    names = ", ".join(f"{value:.4f}" for value in coefficients(model)[:4])
    off = np.abs(gravity_regressor(table.q) @ fit.coefficients + fit.K0 - table.GC_torque).max()
    links, drives = ", ".join(one["links"].values()), "; ".join(drive["frames"] for drive in one["drives"].values())
    return [
        TABLE.text("torques", constants=constants, off=off, names=names, mass=coefficients(model)[4]),
        TABLE.text("arm", f=friction, slope=-friction[2, 1]),
        TABLE.text("columns", count=len(one["links"]), links=links, drives=drives),
    ]


EXPERIMENT = Experiment(name="zhou2025", title="Gravity compensation of the dVRK-Si PSM (Zhou et al. 2025)", run=run)
