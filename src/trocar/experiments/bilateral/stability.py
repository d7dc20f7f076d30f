"""Stability over delay and stiffness, with and without passivity control; drift and its compensation."""

from __future__ import annotations

import numpy as np

from trocar.experiments.bilateral import figures
from trocar.experiments.bilateral.bench import TABLE, Bench
from trocar.experiments.bilateral.laboratory import GAP, contact_runs, pair
from trocar.experiments.bilateral.pair_log import PairLog
from trocar.experiments.bilateral.passivity import DampingInjection, Passivity, TimeDomainPassivity, WaveVariables
from trocar.spatial import Array
from trocar.teleoperation.channel import netfi

DELAYS = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
STIFFNESS = (100.0, 300.0, 1000.0, 3000.0, 6000.0)
KINDS = {
    "none": Passivity,
    "damping 20 N s/m": DampingInjection,
    "wave variables": WaveVariables,
    "time-domain passivity": TimeDomainPassivity,
}
RETURN, END = 3.0, 5.5  # time of the hand's return, end of the run [s]
MILLI = 1e3


def stability(bench: Bench) -> None:
    """Oscillation of the grip on a wall, for all delays, stiffnesses and kinds of passivity control."""
    delays = (0.0, 0.002, 0.01, 0.02, 0.1) if bench.quick else DELAYS
    walls = (1000.0, 3000.0) if bench.quick else STIFFNESS
    scales = (1.0, 0.2)
    maps: dict[tuple[float, str], Array] = {}
    runs: dict[str, PairLog] = {}
    for name, kind in KINDS.items():
        bench.show(f"stability: {name}")
        runs[name] = contact_runs(delays, walls, scales, passivity=kind())
        found = MILLI * runs[name].oscillation().reshape(len(scales), len(walls), len(delays))
        maps |= {(s, name): found[i] for i, s in enumerate(scales)}
    margins = MILLI * runs["time-domain passivity"].least_margin().reshape(len(scales), len(walls), len(delays))
    T, k = (np.round(MILLI * np.array(delays), 6).tolist(), list(walls))
    report = bench.report
    for s, wall, stable, unstable, seen in ((1.0, 1000.0, 2.0, 10.0, 17.0), (0.2, 3000.0, 10.0, 20.0, 20.0)):
        values = {"s": f"{s:g}", "k": f"{wall:g}"}
        row = maps[s, "none"][k.index(wall)]
        where = "position-force, s = {s}, {k} N/m, "
        report.add_claim(TABLE.claim(where + "stable at T = {T:g} ms", row[T.index(stable)], T=stable, **values))
        report.add_claim(
            TABLE.claim(where + "unstable at T = {T:g} ms", row[T.index(unstable)], T=unstable, seen=seen, **values)
        )
        passive = maps[s, "time-domain passivity"][k.index(wall)]
        report.add_claim(
            TABLE.claim(
                "time-domain passivity, s = {s}, {k} N/m, to {T:g} ms",
                passive.max(),
                T=T[-1],
                seen=1.9 if s == 1.0 else 0.3,
                at_longest=passive[-1],
                **values,
            )
        )
    waves = maps[1.0, "wave variables"]
    report.add_claim(TABLE.claim("wave variables, s = 1, to {T:g} ms", waves.max(), T=T[-1]))
    cell = k.index(1000.0) * len(T) + T.index(10.0)
    made = MILLI * runs["none"].least_margin()[cell]
    report.add_claim(TABLE.claim("energy made by the channel, s = 1, 1000 N/m, T = 10 ms", made))
    to_100 = [j for j, delay in enumerate(T) if delay <= 100.0]
    noisy = _margins_on_a_network(bench)
    worst = margins[..., to_100].min(axis=(1, 2)).tolist()
    report.add_claims(TABLE.claims("least energy margin, time-domain passivity/{row}", [*worst, *noisy]))
    report.add_figure(
        figures.stability_maps(maps, T, k),
        "Peak-to-peak motion of the grip over the last second [mm], position-force control, kf = 1, hand 200 N/m and "
        "5 N s/m. Waves: b = 15 N s/m, filter 10 Hz; at 200 ms and s = 0.2 the mass b T of the line still oscillates "
        "on the hand's spring and settles to 0.4 mm within 5 s.",
    )
    report.add_figure(
        figures.same_start(runs["none"], runs["time-domain passivity"], cell),
        "One start, T = 10 ms, s = 1, 1000 N/m: without (left) and with (right) time-domain passivity control.",
    )
    bench.logs["unstable"], bench.logs["passive"] = (
        runs[name].cell(cell) for name in ("none", "time-domain passivity")
    )


def _margins_on_a_network(bench: Bench) -> list[float]:
    bench.show("stability: energy margins on a network")
    chosen = (None, 30)
    log = pair(
        len(chosen),
        stiffness=1000.0,
        passivity=TimeDomainPassivity(),
        forward=[netfi(100, loss, seed=1) for loss in chosen],
        backward=[netfi(100, loss, seed=2) for loss in chosen],
        move_limits=True,
    ).run(4.0)
    return (MILLI * log.least_margin()).tolist()


def drift(bench: Bench) -> None:
    """Offset of the slave in contact and after the return to free motion, with and without drift compensation."""
    delays = (0.0, 0.1) if bench.quick else (0.0, 0.01, 0.05, 0.1, 0.2)
    j = delays.index(0.1)
    log, without = (
        contact_runs(delays, [1000.0], (1.0, 0.2), END, RETURN, passivity=TimeDomainPassivity(drift_compensation=on))
        for on in (True, False)
    )
    cells = [j, len(delays) + j]  # for the two scales
    s, end, pressed = log.scale[cells], log.t[-1], RETURN - 0.1
    k = round(pressed / log.t[1])
    depth = -(s * log.x_m[k, 2, cells] + GAP)  # depth of s times the grip behind the wall
    free, contact = (MILLI * np.abs(log.offset(t)[cells]) for t in (end, pressed))
    # In joules of the master: kf = 1, lengths of the slave divided by s.
    given, needed = MILLI * log.E_in_m[k, cells], MILLI * 0.5 * 1000.0 * depth**2 / s
    lost = MILLI * np.abs(without.offset(end)[cells])
    report = bench.report
    report.add_claims(TABLE.claims("offset after return to free motion, T = 100 ms/{row}", free, without=lost.tolist()))
    report.add_claims(
        TABLE.claims("offset in contact, T = 100 ms/{row}", contact, given=given.tolist(), needed=needed.tolist())
    )
    report.add_figure(
        figures.drift(log, without, j),
        "Time-domain passivity at T = 100 ms, s = 1, 1000 N/m: the reduced velocity lets the slave lag. Compensation "
        "returns it as soon as motion costs no energy; in contact the available energy limits the return.",
    )


def engine(bench: Bench) -> None:
    """Compare one cell in generated code and in the MuJoCo engine."""
    duration = 2.0
    compiled, mujoco = (pair(1, stiffness=1000.0, delay=0.0, engine=engine).run(duration) for engine in (False, True))
    apart = np.abs(compiled.x_m - mujoco.x_m).max()
    bench.report.add_claim(TABLE.claim("engine, s = 1, 1000 N/m, T = 0", MILLI * apart, duration=duration))
