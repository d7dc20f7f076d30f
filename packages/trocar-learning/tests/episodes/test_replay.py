"""Episodes of data sets in the simulator and in the page."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from trocar.cli import app
from trocar.errors import TrocarError
from trocar_learning.episodes import EpisodeSet, convert, load_episodes
from trocar_learning.episodes.replay import MEASURED, PREDICTED, completed, replay

ARM = tr.load_arm("PSM")


def motion(arm="PSM"):
    """The simulated motion of a PSM along a sinusoid, as a data set of a robot would have it."""
    from trocar.control import ComputedTorque, sinusoid

    sim = tr.Simulator(arm)
    way = np.array([0.2, 0.1, 0.02, 0.1, 0.1, 0.1, 0.0])
    reference = sinusoid(np.array([0.1, 0.0, 0.12, 0.0, 0.1, 0.0, 0.4]), way, 0.5)
    sim.reset(reference(0.0).q, reference(0.0).dq)
    law = ComputedTorque(tr.load_mechanism(arm), 900.0, 60.0, friction=True)
    return tr.simulate(sim, law, reference, 1.0)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    recording = motion()
    silent = replace(recording, tau=None)
    convert([{"psm1": recording, "psm2": recording}], folder / "efforts", "draw a circle", fps=50)
    convert([{"psm1": silent}, {"psm1": silent}], folder / "silent", "draw a circle", fps=50)
    return folder


def test_the_twin_follows_and_needs_the_same_efforts(data):
    result = replay(load_episodes(data / "efforts")[0], "psm2")
    assert result.effort == MEASURED
    assert (result.rms["q"] < 5e-3).all()
    a, b = result.recording, result.twin
    rows = slice(10, -10)  # the filtered motion differs at its ends
    twin = np.stack([np.interp(a.t - a.t[0], b.t - b.t[0], column) for column in b.tau.T], axis=1)[rows]
    for joint in range(3):
        assert np.corrcoef(a.tau[rows, joint], twin[:, joint])[0, 1] > 0.95
    heavier = replace(result.recording, tau=result.recording.tau + 2.0)
    from trocar.robot.track import Track, difference

    assert (difference(Track(heavier, "data"), Track(result.twin, "twin"))["tau"] > 1.5).all()


def test_efforts_that_the_data_does_not_have_are_predicted(data):
    recording, origin = completed(load_episodes(data / "silent")[0])
    assert origin == PREDICTED
    measured, _ = completed(load_episodes(data / "efforts")[0])
    inner = slice(5, -5)
    assert np.corrcoef(recording.tau[inner, 1], measured.tau[inner, 1])[0, 1] > 0.95
    assert "predicted" in recording.provenance["effort"]
    with pytest.raises(TrocarError, match="psm3"):
        completed(load_episodes(data / "silent")[0], "psm3")


def test_the_command_replays_and_writes_both_recordings(data, tmp_path):
    command = ["replay", str(data / "silent"), "--episode", "1", "-o", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "success: not stated" in result.output
    assert "predicted by the model" in result.output
    both = [tr.load_recording(tmp_path / f"{name}.npz") for name in ("data", "twin")]
    assert [recording.provenance["arm"] for recording in both] == ["PSM", "PSM"]
    compared = CliRunner().invoke(app, ["compare", *(str(tmp_path / f"{name}.npz") for name in ("data", "twin"))])
    assert compared.exit_code == 0, compared.output
    for arguments, message in ((["--episode", "2"], "episodes 0 to 1"), (["--arm", "psm2"], "psm2")):
        wrong = CliRunner().invoke(app, ["replay", str(data / "silent"), *arguments])
        assert wrong.exit_code == 2
        assert message in wrong.output


def test_the_page_shows_the_chosen_episode_and_its_twin(data):
    pytest.importorskip("viser", reason="pip install 'trocar[view]'")
    from tests.support.raw_browser import until
    from trocar.robot import Robot
    from trocar.robot.settings import ArmSettings
    from trocar.view.pages import viewer_page
    from trocar.view.panels.recordings import RecordingPanel
    from trocar.view.server import serve
    from trocar_learning.view.episode_panel import EpisodePanel

    settings = ArmSettings(arm="PSM")
    server = serve(port=0)
    with Robot(settings.build(), speed="real", start="ready", playing=False) as robot:
        chooser = partial(EpisodePanel, load_episodes(data / "efforts"), 0)
        page = viewer_page(server, robot, None, settings, True, chooser)
        try:
            panel, recordings = page.panel(EpisodePanel), page.panel(RecordingPanel)
            panel.open()
            assert recordings.a is not None
            assert recordings.a.name == "episode 0, psm1"
            assert tuple(panel.arm.options) == ("psm1", "psm2")
            until(lambda: recordings.b is not None, "the twin")
            frame = page.source()
            assert not frame.live
            np.testing.assert_allclose(frame.arms["PSM"].q, recordings.a.recording.q[0], atol=1e-6)
        finally:
            page.close()
            server.stop()


def test_a_film_or_twin_of_an_episode_left_behind_is_not_shown(data):
    pytest.importorskip("viser", reason="pip install 'trocar[view]'")
    from trocar_learning.view.episode_panel import EpisodePanel

    episodes = load_episodes(data / "silent")
    late = replace(episodes[0], pictures={"film": lambda: panel.open() or np.zeros((2, 4, 4, 3), np.uint8)})
    loaded = []

    class Recordings:
        def load(self, track, alone):
            loaded.append((track.name, alone))

        def simulate(self):
            pass

    shown = EpisodeSet(data, "LeRobot v3.0", 2, [late, episodes[1]].__getitem__, {})
    panel = EpisodePanel(shown, 0, Recordings())
    panel.page = SimpleNamespace(run=lambda job: None)
    panel.number, panel.arm = SimpleNamespace(value=0), SimpleNamespace(value="psm1", options=("psm1",))
    panel._about, panel._image = SimpleNamespace(content=""), SimpleNamespace(visible=False)
    panel.open()
    panel.number.value = 1  # opened while the film of episode 0 is read
    panel._read(late)
    assert panel._film == []
    assert loaded == [("episode 0, psm1", True), ("episode 1, psm1", True)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.hdf5"], "does not exist"),
        (["."], "holds no episodes"),
        ([".", "--arm", "PSM"], ". is shown with --reports"),
    ],
)
def test_pages_that_cannot_be(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["view", "--no-browser", *arguments])
    assert result.exit_code == 2, result.output
    assert message in result.output
