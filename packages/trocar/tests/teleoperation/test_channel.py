"""The teleoperation channel: delay, jitter, loss, outages, play-out buffer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.teleoperation.channel import Channel, Outages, intermittent, netfi
from trocar_reproductions.bilateral.bench import mean_delay, share_lost

DT = 1e-3


def test_a_constant_delay_delays_every_packet_by_the_same_time() -> None:
    channel = Channel(0.02)
    packets = channel.packets(50, DT)
    assert (packets == np.maximum(np.arange(50) - 20, -1)).all()
    for k in range(50):  # the same one by one
        channel.send(k * DT, k)
        used = channel.receive(k * DT)
        assert (-1 if used is None else used) == packets[k]


def test_the_same_seed_gives_the_same_channel() -> None:
    one, same, other = (netfi(100, 30, 30, seed=seed, first_outage=0.3).packets(800, DT) for seed in (5, 5, 6))
    assert (one == same).all()
    assert (one != other).any()
    assert (np.diff(one) >= 0).all()  # never an older packet after a newer one
    again = netfi(100, 30, 30, seed=5, first_outage=0.3)
    assert (again.packets(800, DT) == again.packets(800, DT)).all()


@pytest.mark.parametrize("delay", [100, 300, 500])
def test_netfi_delays_have_their_published_mean(delay: int) -> None:
    assert 1e3 * mean_delay(netfi(delay)) == pytest.approx(delay, abs=5.0)


@pytest.mark.parametrize("percentage", [10, 30, 50])
def test_netfi_bursts_lose_their_published_share(percentage: int) -> None:
    assert 100.0 * share_lost(netfi(100, percentage)) == pytest.approx(percentage, abs=3.0)


def test_a_play_out_buffer_turns_jitter_into_a_constant_delay() -> None:
    bare, buffered = Channel(0.01, jitter=0.005), Channel(0.01, jitter=0.005, playout=0.1)
    late = np.arange(600) - bare.packets(600, DT)
    assert np.ptp(late[200:]) > 3
    assert (buffered.packets(600, DT)[200:] == np.arange(200, 600) - 100).all()


def test_packets_sent_during_an_outage_are_never_used() -> None:
    channel = Channel(0.01, outage=Outages(lost=(0.2, 0.2), good=(0.3, 0.3)))
    used = channel.packets(1000, DT)
    sent = np.unique(used[used >= 0]) * DT
    assert not (((sent >= 0.3) & (sent < 0.5)) | ((sent >= 0.8) & (sent < 1.0))).any()
    assert ((sent >= 0.5) & (sent < 0.8)).any()
    assert np.ptp(used[320:500]) == 0  # the last one is held


def test_an_intermittent_link_is_down_for_the_given_share_of_time() -> None:
    assert share_lost(intermittent(seed=3)) == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize("options", [{"delay": -0.1}, {"loss": 1.5}, {"jitter": np.nan}, {"playout": np.inf}])
def test_invalid_channel_values_are_rejected(options: dict[str, Any]) -> None:
    with pytest.raises(TrocarError, match=next(iter(options))):
        Channel(**options)


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(TrocarError, match="delay of a NetFI channel"):
        netfi(200)
