"""Recordings, films and reports in the page."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import trocar as tr
from trocar.control import ComputedTorque, sinusoid
from trocar.errors import TrocarError
from trocar.palette import ACCENT, rgb
from trocar.report import Claim, Report
from trocar.robot.track import Track, difference

pytest.importorskip("viser", reason="pip install 'trocar[view]'")

from tests.support.viewed_robot import ViewedRobot
from trocar.view.film import Film
from trocar.view.panels.reports import ReportPanel, reports_in

pytestmark = pytest.mark.xdist_group("viewer_recordings")  # one worker: fixtures are built once
CENTRE, WAY = np.array([0.1, 0.0, 0.12, 0.0, 0.1, 0.0, 0.4]), np.array([0.2, 0.1, 0.02, 0.1, 0.1, 0.1, 0.0])


@pytest.fixture(scope="module")
def recording():
    sim = tr.Simulator("PSM", friction=False)
    reference = sinusoid(CENTRE, WAY, 1.0)
    sim.reset(reference(0.0).q, reference(0.0).dq)
    return tr.simulate(sim, ComputedTorque(tr.load_mechanism("PSM"), 900.0, 60.0), reference, 1.0)


# -- the page --------------------------------------------------------------------------------------------------------


class Client:
    """Records the data that a browser is sent."""

    def __init__(self):
        self.files = {}

    def send_file_download(self, name, content, save_immediately):
        self.files[name] = content


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    claim = Claim(id="one", published=1.0, ours=1.0, unit="m", relation="equal", tolerance=0.0, source="here")
    Report("A report & more", [claim]).write_html(folder / "below" / "first.html")
    result = ViewedRobot(reports=folder, drawn=False)
    yield result
    result.close()


@pytest.fixture
def watch(monkeypatch):
    """Call a function before every picture of a film."""

    def watching(before):
        picture = Film.picture

        def watched(film, t):
            before()
            return picture(film, t)

        monkeypatch.setattr(Film, "picture", watched)

    return watching


def film(page, client, suffix):
    """Send a film to a client; the messages about it."""
    before = len(page.page.messages)
    page.recordings.films.send(client, suffix)
    texts = list(page.page.messages)[before:]
    if any("no OpenGL context" in text for text in texts):
        pytest.skip(f"nothing can be rendered here: {texts}")
    return texts


@pytest.fixture
def small(monkeypatch):
    """Films of small pictures, which are quicker to draw."""
    monkeypatch.setattr("trocar.view.film.FILM_SIZE", (64, 48))


def test_a_film_can_be_cancelled_and_another_made(page, recording, watch, small):
    page.recordings.a = Track(recording, "run")
    client, films, pictures = Client(), page.recordings.films, []

    def third():
        pictures.append(0)
        if len(pictures) == 3:
            films.cancel()

    watch(third)
    assert film(page, client, ".gif") == []
    assert (len(pictures), client.files) == (3, {})
    assert not films.status.visible
    assert film(page, client, ".gif") == []
    assert list(client.files) == ["recording.gif"]


def test_a_film_that_fails_is_reported_and_another_can_be_made(page, recording, small):
    page.recordings.a = Track(recording, "run")
    client = Client()

    def broken():
        raise ZeroDivisionError("a bug")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Film, "picture", lambda film, t: broken())
        assert film(page, client, ".gif") == ["no film was made: a bug"]
    assert film(page, client, ".gif") == []
    assert list(client.files) == ["recording.gif"]


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_the_page_sends_films_of_its_recording(page, recording, watch, suffix):
    if suffix == ".mp4":
        pytest.importorskip("imageio_ffmpeg")
    page.recordings.a = Track(recording, "run")
    client, films, shares = Client(), page.recordings.films, []
    watch(lambda: shares.append(int(re.search(r"(\d+) %", films.status.content)[1])))
    assert film(page, client, suffix) == []
    ((name, content),) = client.files.items()
    assert name == f"recording{suffix}"
    # one picture after the other, with the progress shown in between
    assert shares == [100 * k // 20 for k in range(20)]
    assert not films.status.visible
    if suffix == ".mp4":
        assert content[4:8] == b"ftyp"
        return
    with Image.open(io.BytesIO(content)) as made:
        assert (made.size, made.n_frames) == ((640, 480), 20)  # 0 to 0.95 s, 20 a second


def test_the_button_simulates_the_recording_as_b_with_the_settings_of_the_mechanism_tab(page, recording):
    recordings = page.recordings
    recordings.a = recordings.b = None
    recordings.load(Track(recording, "run"))
    page.simulation.arm("PSM").change(counterweight=False)
    recordings.simulate()
    assert recordings.b.name == "run, simulated"
    assert recordings.b.settings.counterweight is False
    assert "RMS of B - A" in recordings.compared.content
    # 1 s at 1 Hz about 0.12 m: without the counterweight its weight is left
    g = [tr.load_mechanism("PSM", counterweight=c).gravity(CENTRE)[2] for c in (True, False)]
    assert difference(recordings.a, recordings.b)["tau"][2] == pytest.approx(abs(g[1] - g[0]), rel=0.15)


def test_a_run_is_recorded_and_shown(page):
    page.draw()
    page.recordings._on_record()
    page.simulation.step(300)
    page.recordings._on_record()
    assert page.recordings.a.name == "this run"
    assert page.recordings.a.duration == pytest.approx(0.2, abs=0.005)
    page.draw()
    assert not page.page.selection.frame.live
    page.recordings.source.value = "simulation"
    page.draw()
    assert page.page.selection.frame.live


def test_a_typed_millimetre_of_the_tip_moves_the_target_along_that_axis_alone(page):
    page.simulation.arm("PSM").place(np.array([0.1, 0.1, 0.14, 0.2, 0.3, -0.2, 0.0]))
    page.draw()
    tip, T = page.controls.tip, page.arm().T_tip
    tip.show(T)
    z = round(1000 * T[2, 3])
    tip.entry.fields[2].value = z - 4.0
    tip.move_as_entered()
    moved = page.arm().T_tip
    np.testing.assert_allclose(moved[:3, 3], [*T[:2, 3], (z - 4.0) / 1000], rtol=0, atol=1e-9)
    np.testing.assert_allclose(moved[:3, :3], T[:3, :3], atol=1e-9)
    np.testing.assert_allclose(tip.handle.position, moved[:3, 3], atol=1e-9)


def test_an_action_of_a_control_that_fails_is_a_message(page):
    before = len(page.page.messages)
    calls = []
    callback = page.page.on(lambda event: (calls.append(event), 1 / 0))
    callback(SimpleNamespace(client=None))  # changes by the program are not user actions
    callback(SimpleNamespace(client=1))
    assert len(calls) == 1
    assert list(page.page.messages)[before:] == ["division by zero"]


def test_reports_are_listed_and_shown_in_a_separate_frame(page):
    reports = page.page.panel(ReportPanel)
    assert reports.choice.options == ("below/first",)
    reports.read()
    reports.read()  # reading it again is not an error
    reports.dismiss()
    with pytest.raises(TrocarError, match="there is no folder"):
        reports_in(reports.files["below/first"].parent / "nowhere")


def test_the_error_for_a_folder_without_reports_explains_how_to_make_one(tmp_path):
    with pytest.raises(TrocarError, match="trocar reproduce NAME --report"):
        reports_in(tmp_path)


def test_reports_and_figures_share_a_palette(tmp_path):
    assert rgb(ACCENT) == (0, 114, 178)
    assert ACCENT in Report("r").write_html(tmp_path / "r.html").read_text(encoding="utf-8")


def test_python_m_trocar_is_the_command():
    command = [sys.executable, "-m", "trocar", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("trocar ")
