"""Published network conditions as channels.

NetFI (arXiv 2603.06824): delay is a least delay plus a mixture of two exponentials; losses are bursts of Pareto II
length in a two-state link; outages have uniform length and a fixed cool-down. Delays are rounded means,
losses are shares of packets lost.
"""

from __future__ import annotations

from trocar.errors import check_known
from trocar.teleoperation.channel import Bursts, Channel, Exponentials, Outages

# least delay [ms]; weights; rates [1/ms]
_DELAYS = {
    100: (70.0, (0.73, 0.27), (0.027, 0.085)),
    300: (210.0, (0.892, 0.108), (0.011, 0.016)),
    500: (406.0, (0.895, 0.105), (0.010, 0.015)),
}
# alpha, lambda in the good and in the bad state, by percentage of packets lost
_BURSTS = {
    10: ((4.43, 1.64), (4.97, 0.27)),
    30: ((4.60, 3.55), (3.90, 1.47)),
    50: ((3.86, 3.32), (3.80, 6.05)),
}
# longest outage and cool-down [s], by the same percentages
_OUTAGES = {10: (3.0, 8.5), 30: (1.0, 1.0), 50: (2.0, 1.0)}


def netfi(
    delay: int = 100,
    loss: int | None = None,
    outage: int | None = None,
    *,
    seed: int = 0,
    playout: float | None = None,
    first_outage: float | None = None,
) -> Channel:
    """A channel of NetFI: mean delay 100, 300 or 500 ms, loss and outage 10, 30 or 50 %, or none.

    first_outage: time of the first outage [s]. Default: after one cool-down.
    """
    for name, known, value in (("delay", _DELAYS, delay), ("loss", _BURSTS, loss), ("outage", _OUTAGES, outage)):
        if value is not None:
            check_known(f"{name} of a NetFI channel", [str(key) for key in known], str(value))
    least, weights, rates = _DELAYS[delay]
    outages = None
    if outage is not None:
        longest, pause = _OUTAGES[outage]
        outages = Outages(lost=(0.0, longest), good=(pause, pause), first=first_outage)
    return Channel(
        delay=1e-3 * least,
        jitter=Exponentials(weights, [1e-3 / rate for rate in rates]),
        loss=0.0 if loss is None else Bursts(*_BURSTS[loss]),
        outage=outages,
        seed=seed,
        playout=playout,
    )


def intermittent(delay: float = 0.0, *, seed: int = 0) -> Channel:
    """A link that works for N(3.2, 0.15) s and fails for N(0.8, 0.1) s, as in a digital twin of Johns Hopkins."""
    return Channel(delay=delay, outage=Outages(lost=(0.8, 0.1), good=(3.2, 0.15), law="normal"), seed=seed)
