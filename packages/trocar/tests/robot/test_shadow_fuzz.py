"""Random joint states from ROS to the twin of a running arm: rows, or messages in a bounded number."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.odd_values import INPUTS, SEED, nonsense, numbers, rounds, text
from trocar.errors import TrocarError
from trocar.robot.settings import ArmSettings
from trocar.robot.shadow import MAX_MESSAGES, MAX_REFUSALS, Shadow

# Numbers of 1e308 overflow in the filter; the next message counts again.
pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
]
STAMPS = (0, 1, -1, 2**62, 2**63 - 1)


def test_random_joint_states_are_rows_or_messages_in_a_bounded_number() -> None:
    rng = np.random.default_rng([SEED, 7])
    shadow = Shadow(ArmSettings(arm="PSM"), "PSM1/measured_js")
    names, now = list(shadow.arm.joint_names), 10**9
    for _ in range(rounds(400)):
        now += int(rng.integers(1, 10**8))
        stamp = now if rng.integers(5) else STAMPS[rng.integers(len(STAMPS))]
        n = int(rng.integers(6, 8))
        heard = names[:n] if rng.integers(4) else [text(rng) for _ in range(n)]
        state = [numbers(rng, n) for _ in range(3)]
        INPUTS["joint states to a twin"] += 1
        if rng.integers(3):
            shadow.receive(stamp, heard, *state)
        else:
            shadow.receive_jaw(stamp, heard[:1], *(values[:1] for values in state))
    assert len(shadow.messages) <= MAX_MESSAGES + MAX_REFUSALS
    assert all(len(message) < 700 for message in shadow.messages)
    for k in range(100):  # a sound stream after all that
        shadow.receive(now + 10**10 + k * 10**7, names[:6], *([[0.0, 0.0, 0.1, 0.0, 0.0, 0.0]] * 3))
        shadow.receive_jaw(now + 10**10 + k * 10**7, ["jaw"], *([[0.0]] * 3))
    try:
        recording = shadow.recording()
    except TrocarError:
        pytest.fail("the twin is deaf")
    assert np.isfinite(recording.q[-10:]).all()
    assert np.isfinite(shadow.efforts(0.1).predicted).all()


def test_a_twin_hears_the_next_message_after_a_number_beyond_reason() -> None:
    """Its filters would keep a part of the number for thousands of messages."""
    shadow = Shadow(ArmSettings(arm="PSM"), "PSM1/measured_js")
    names, rest = list(shadow.arm.joint_names)[:6], [0.0, 0.0, 0.1, 0.0, 0.0, 0.0]
    for k in range(20):
        dq = [1e300 if k == 5 else 0.0] * 6
        shadow.receive(10**9 + k * 10**7, names, rest, dq, rest)
        shadow.receive_jaw(10**9 + k * 10**7, ["jaw"], [0.0], [0.0], [0.0])
    assert len(shadow) >= 18
    assert len(shadow.messages) == 1
    assert np.isfinite(shadow.efforts(0.1).predicted).all()


def test_random_messages_to_the_page_of_a_twin_change_nothing_of_it(capfd: pytest.CaptureFixture[str]) -> None:
    """Its browsers may only choose what is shown: the twin goes on, and nothing is printed."""
    pytest.importorskip("viser")
    from tests.support.raw_browser import RawBrowser
    from trocar.view.pages import shadow_page
    from trocar.view.server import serve

    rng = np.random.default_rng([SEED, 8])
    shadow = Shadow(ArmSettings(arm="PSM"), "PSM1/measured_js")
    server = serve(port=0)
    server.rate = 1e6
    page = shadow_page(server, shadow, "PSM1").start()
    try:
        browsers = [RawBrowser(server) for _ in range(3)]
        controls = list(server.gui._gui_input_handle_from_uuid)
        for k in range(rounds(150)):
            INPUTS["page of a twin"] += 1
            uuid = controls[rng.integers(len(controls))] if controls and rng.integers(3) else text(rng)
            message = {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": nonsense(rng)}}
            browsers[k % 3].send(message if rng.integers(3) else nonsense(rng))
            q = [0.0, 0.0, 0.1, 0.0, 0.0, 0.0]
            shadow.receive(10**9 + k * 10**7, shadow.arm.joint_names[:6], q, q, q)
            shadow.receive_jaw(10**9 + k * 10**7, ["jaw"], [0.0], [0.0], [0.0])
        for browser in browsers:
            browser.settled()
            browser.close()
        assert page.running
        assert np.isfinite(shadow.recording().q).all()
        assert len(shadow.recording()) > 10
    finally:
        page.close()
        server.stop()
    assert capfd.readouterr().err == ""
