"""`tr.show`: a simulation under its user's own controller, in the page of a script or a notebook."""

from __future__ import annotations

import time
import urllib.request

import numpy as np
import pytest

import trocar as tr
from tests.support.waiting import TIMEOUT, until
from trocar.errors import TrocarError

pytest.importorskip("viser", reason="pip install 'trocar[view]'")

from trocar.view.own_run import OwnRun
from trocar.view.pages import own_page
from trocar.view.panels.own_run import RunCurvePanel, RunPanel
from trocar.view.server import serve

START = np.array([0.2, -0.1, 0.12, 0.0, 0.0, 0.0, 0.3])


@pytest.fixture(scope="module")
def sim():
    return tr.Simulator("PSM", timestep=2e-3)


def hold(sim):
    kp = np.array([40, 40, 400, 0.5, 0.2, 0.2, 0.2])
    return lambda state, setpoint: kp * (setpoint.q - state.q) - 0.1 * kp * state.dq + sim.mechanism.gravity(state.q)


def test_the_recording_is_that_of_simulate(sim, capsys):
    sim.reset(START)
    with tr.show(sim, hold(sim), tr.hold(START), 0.1, speed=100.0, wait=False, browser=False) as shown:
        recording = shown.recording
        address = shown.address
    assert address in capsys.readouterr().out
    sim.reset(START)
    again = tr.simulate(sim, hold(sim), tr.hold(START), 0.1)
    np.testing.assert_array_equal(recording.q, again.q)
    np.testing.assert_array_equal(recording.tau, again.tau)


def test_a_run_keeps_the_pace_pauses_and_starts_again(sim):
    sim.reset(START)
    calls = []
    law = hold(sim)
    run = OwnRun(sim, lambda state, setpoint: (calls.append(state.t), law(state, setpoint))[1], tr.hold(START), 0.2)
    begun = time.perf_counter()
    run.start()
    try:
        assert run.wait(TIMEOUT)
        assert time.perf_counter() - begun >= 0.19  # real time, or slower on a busy machine
        assert run.frame().time == pytest.approx(0.2)
        assert len(calls) == 100
        run.pace.pause()
        run.again()
        until(lambda: run.result is None and run.frame().time < 0.01, "the start again")
        assert len(calls) <= 101  # paused at its first step
    finally:
        run.close()


def test_the_page_shows_curves_and_the_error_of_a_controller(sim):
    sim.reset(START)

    def broken(state, setpoint):
        if state.t > 0.15:
            raise ValueError("no effort for you")
        return hold(sim)(state, setpoint)

    run, server = OwnRun(sim, broken, tr.hold(START), 1.0), serve(port=0, framed=True)
    page = own_page(server, run)
    try:
        run.start()
        assert run.wait(TIMEOUT)
        assert isinstance(run.error, ValueError)
        for panel in page.panels:
            page.due[panel] = 0.0
        page.draw()
        assert "no effort for you" in page.panel(RunPanel)._status.content
        assert page.panel(RunCurvePanel).plots["tracking error"].visible
        with urllib.request.urlopen(page.address) as answer:
            policy = answer.headers["Content-Security-Policy"]
        assert policy == "frame-ancestors 'self' http://127.0.0.1:* http://localhost:*"
    finally:
        page.close()
        run.close()
        server.stop()


def test_what_cannot_be_viewed_is_refused():
    with pytest.raises(TrocarError, match="Simulator or a Scene, got Mechanism"):
        tr.show(tr.load_mechanism("PSM"), hold, None)
    with pytest.raises(TrocarError, match="controller must be a function"):
        tr.show(object.__new__(tr.Simulator), 3.0)
