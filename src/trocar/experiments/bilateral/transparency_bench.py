"""Transparency: felt stiffness, comparison of schemes and force sources, Z-width, hybrid matrix."""

from __future__ import annotations

import numpy as np

from trocar.experiments.bilateral import figures
from trocar.experiments.bilateral.bench import TABLE, Bench
from trocar.experiments.bilateral.coupling_schemes import SCHEMES
from trocar.experiments.bilateral.force_sources import FORCE_SOURCES
from trocar.experiments.bilateral.laboratory import (
    FREQUENCIES,
    GAP,
    WINDOW,
    contact_runs,
    hybrid_matrix,
    pair,
    wall_oscillation,
)
from trocar.experiments.bilateral.operator import Reaches
from trocar.experiments.bilateral.passivity import Passivity, TimeDomainPassivity

WALLS = (300.0, 1000.0, 3000.0)
STABLE = 1e-4  # oscillation below which a virtual wall counts as stable [m]
MILLI = 1e3


def stiffness(bench: Bench) -> None:
    """Stiffness that the operator feels without delay, and the following error in free motion."""
    log = contact_runs([0.0], WALLS)
    felt = log.F_m[-1, 2] / -(log.x_m[-1, 2] + GAP)
    bench.report.add_claims(TABLE.claims("felt stiffness, s = 1, T = 0/{row}", felt.tolist()))
    reach = Reaches([(0.2, (0.05, 0.0, -0.03), 0.8), (1.2, (-0.05, 0.04, 0.03), 0.8), (2.2, (0.0, -0.04, 0.0), 0.8)])
    free = pair(1, wall=False, scale=0.2, intention=reach, delay=0.0).run(3.2)
    bench.report.add_claim(
        TABLE.claim("following, s = 0.2", MILLI * free.following_error()[0], path="three reaches of 6 to 13 cm")
    )


def schemes(bench: Bench) -> None:
    """Force and position errors of all schemes and force sources on one wall."""
    delays = (0.0, 0.01) if bench.quick else (0.0, 0.01, 0.05, 0.1)
    logs = {}
    for name, kind in SCHEMES.items():
        for passivity in (Passivity(), TimeDomainPassivity()):
            if passivity.name != "none" and kind.name in ("none", "position-position"):
                continue  # no reflected force, or no benefit: position-position is stable here
            title = name if passivity.name == "none" else f"{name}, passive"
            bench.show(f"schemes: {title}")
            logs[title] = contact_runs(delays, [1000.0], scheme=kind(), passivity=passivity)
    sources = {}
    for name, source in FORCE_SOURCES.items():
        bench.show(f"schemes: force from {name}")
        sources[name] = float(contact_runs([0.0], [1000.0], duration=2.5, force=source()).force_error()[0])
    force = {title: log.force_error().tolist() for title, log in logs.items()}
    pf, pp, four = (force[name] for name in ("position-force", "position-position", "four-channel"))
    bench.report.add_claims(
        TABLE.claims(
            "force error, {row}",
            [four[1] / pf[1], pf[0] / pp[0], sources["contact"] / sources["measured_cf"]],
            values=[
                f"{four[1]:.2g} and {pf[1]:.2g} N",
                f"{pf[0]:.2g} and {pp[0]:.2g} N",
                ", ".join(f"{name} {value:.2g} N" for name, value in sources.items()),
            ],
        )
    )
    last = logs["position-position"]
    bench.report.add_claim(
        TABLE.claim("position-position, T = 0: force reflected", last.F_m[-1, 2, 0], contact=last.f_e[-1, 2, 0])
    )
    bench.report.add_figure(
        figures.schemes(logs, [MILLI * T for T in delays]),
        "Schemes on a wall of 1000 N/m, s = 1: RMS of hand minus contact force, RMS following error, oscillation.",
    )


def z_width(bench: Bench) -> None:
    """Stiffest virtual wall of the master by damping."""
    walls = [1.0, 10.0] if bench.quick else [1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0]  # [kN/m]
    walls = [1000.0 * K for K in walls]
    damping = [0.0] if bench.quick else [0.0, 5.0, 10.0, 20.0, 40.0, 80.0]
    oscillation = wall_oscillation(walls, damping, duration=1.8 if bench.quick else 2.0)
    stable = np.logical_and.accumulate(oscillation[:, 0] < STABLE)
    bench.report.add_claim(TABLE.claim("Z-width of the master, B = 0", max(np.array(walls)[stable], default=0.0)))
    bench.report.add_figure(
        figures.z_width(MILLI * oscillation, walls, damping),
        "Virtual walls on the MTMR, sampled at 1 kHz and one period late: peak-to-peak motion of the grip [mm], normal "
        "grip.",
    )


def hybrid(bench: Bench) -> None:
    """Hybrid matrix of position-force and four-channel control, 0.1 to 30 Hz."""
    frequencies, window = ((1.0, 10.0), 1.0) if bench.quick else (FREQUENCIES, WINDOW)
    matrices = {}
    for name in ("position-force", "four-channel"):
        bench.show(f"hybrid matrix: {name}")
        matrices[name] = hybrid_matrix(frequencies, window=window, scheme=SCHEMES[name]())
    H, at = matrices["position-force"], list(frequencies).index(1.0)
    bench.report.add_claims(
        TABLE.claims("hybrid matrix at 1 Hz/{row}", np.abs([H.h12[at], H.h21[at]]).tolist(), h11=abs(H.h11[at]))
    )
    bench.report.add_figure(
        figures.hybrid(matrices),
        "Hybrid matrix along z without delay, s = kf = 1: imposed velocity 20 mm/s, imposed force 2 N. Llewellyn's "
        "margin is negative where some passive hand and wall would make the pair unstable.",
    )
