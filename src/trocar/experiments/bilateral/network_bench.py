"""Published network conditions: statistics of the channels, speed of set-points, outages."""

from __future__ import annotations

import numpy as np

from trocar.experiments.bilateral import figures
from trocar.experiments.bilateral.bench import TABLE, Bench
from trocar.experiments.bilateral.laboratory import pair
from trocar.experiments.bilateral.operator import Reaches
from trocar.experiments.bilateral.passivity import TimeDomainPassivity
from trocar.spatial import Array
from trocar.teleoperation.channel import Channel, netfi

SCALE, OUTAGE_AT = 0.2, 1.0
PACKETS = 10_000
SETTLED = 200  # steps of holding until the arm is at rest: its controller has a time constant of 33 ms
MILLI = 1e3


def network(bench: Bench) -> None:
    """Statistics of the presets, and runs of a pair that reaches and presses over each of them."""
    report = bench.report
    report.add_claims(TABLE.claims("NetFI, mean delay/{row}", [MILLI * mean_delay(netfi(T)) for T in (100, 300, 500)]))
    report.add_claims(
        TABLE.claims("NetFI, packets lost/{row}", [100.0 * share_lost(netfi(100, loss)) for loss in (10, 30, 50)])
    )
    bench.show("network: presets")

    def both(delay: int, loss: int | None = None, outage: int | None = None) -> tuple[Channel, Channel]:
        forward, backward = (netfi(delay, loss, outage, seed=seed, first_outage=OUTAGE_AT) for seed in (11, 12))
        return forward, backward

    links = [both(100), both(100, 30), both(300, 50), both(500, 10), both(100, None, 30)]
    reach = Reaches([(0.2, (0.03, 0.0, -0.05), 1.6), (2.2, (0.0, 0.03, -0.06), 0.8), (3.2, (0.0, 0.0, 0.0), 0.8)])
    run = pair(
        len(links),
        stiffness=1000.0,
        scale=SCALE,
        intention=reach,
        passivity=TimeDomainPassivity(),
        forward=[link[0] for link in links],
        backward=[link[1] for link in links],
        move_limits=True,
    )
    log = run.run(2.5 if bench.quick else 5.0)
    dt = log.t[1]
    limits = np.array([joint.velocity for joint in run.slave.arm.mechanism.arm.joints])[None, :, None]
    speed = (np.abs(np.diff(log.q_d, axis=0)) / dt / limits).max(axis=(0, 1))
    report.add_claims(
        TABLE.claims("network {row}: fastest set-point", speed.tolist(), asked=log.asked.max(axis=0).tolist())
    )
    outage = log.cell(len(links) - 1)
    holding = outage.following[:, 0] == 0.0
    spans = _spans(holding)
    settled = holding & (np.convolve(holding, np.ones(SETTLED), "full")[: len(holding)] >= SETTLED)
    at_rest = [span for span in spans if settled[span].any()]
    moved = max((np.ptp(outage.x_s[span][settled[span]], axis=0).max() for span in at_rest), default=np.nan)
    hand = max((np.ptp(outage.x_m[span], axis=0).max() for span in spans), default=np.nan)
    ends = [span.stop for span in spans if span.stop < len(holding)]
    steps = [np.abs(outage.target[k] - outage.target[k - 1]).max() for k in ends]
    report.add_claim(
        TABLE.claim(
            "outage: slave moves while it holds",
            MILLI * moved,
            outages=len(spans),
            held=float(holding.sum() * dt),
            hand=MILLI * hand,
        )
    )
    report.add_claim(TABLE.claim("outage: set-point step at re-alignment", max(steps, default=np.nan)))
    report.add_figure(
        figures.outage(outage),
        "An outage (grey): the slave holds; after packets have arrived for 0.1 s, it follows again from its position.",
    )
    bench.logs["outage"] = outage


def mean_delay(channel: Channel) -> float:
    """Mean delay of packets [s], with one sent every millisecond."""
    for k in range(PACKETS):
        channel.send(1e-3 * k, k)
    return float(np.mean([arrival - 1e-3 * packet for arrival, packet in channel.in_flight()]))


def share_lost(channel: Channel) -> float:
    """Share of packets that never arrive."""
    for k in range(PACKETS):
        channel.send(1e-3 * k, k)
    return 1.0 - len(channel.in_flight()) / PACKETS


def _spans(flags: Array) -> list[slice]:
    """Runs of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int))).tolist()
    return [slice(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True)]
