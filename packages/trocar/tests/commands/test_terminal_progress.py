"""Progress of commands without a terminal."""

import pytest

from trocar.commands import terminal


def test_progress_without_a_terminal_is_a_line_with_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter([0.0, 5.0, 20.0, 21.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(times))
    with terminal.progress_bar("score Reach") as progress:
        for fraction in (0.1, 0.25, 0.3):
            progress(fraction)
    assert capsys.readouterr().err == "score Reach: 25 %, about 60 s left\n"


def test_a_status_without_a_terminal_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter([0.0, 5.0, 20.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(times))
    with terminal.status_line("starting", "record Reach: ") as line:
        for number in (1, 2, 3):
            line(f"{number} of 9 episodes")
    assert capsys.readouterr().err == "record Reach: 1 of 9 episodes\nrecord Reach: 3 of 9 episodes\n"
