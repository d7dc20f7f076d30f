"""Recordings: rejected input, and exact saving and loading."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.recording import InvalidRecording, Recording
from trocar.recording.filters import averaged, lowpass

N = 6


def fields(**changes: Any) -> dict[str, Any]:
    """Two joints, six rows, with numbers that are hard on text formats."""
    rng = np.random.default_rng(0)
    q, dq, ddq, tau = rng.normal(size=(4, N, 2)) * 10.0 ** rng.integers(-300, 300, (4, N, 2))
    q[0] = 0.1 + 0.2, -0.0
    dq[0] = 5e-324, 1.7976931348623157e308
    return {
        "t": np.cumsum(rng.uniform(0.1, 1.0, N)),
        "q": q,
        "dq": dq,
        "ddq": ddq,
        "tau": tau,
        "joints": ("yaw", "wrist_pitch"),
        "joint_units": ("rad", "m"),
        "commands": {"q": q + 1.0, "tau": 2.0 * tau},
        "extra": {"tip": rng.normal(size=(N, 3)), "one": rng.normal(size=(N, 1)), "rcm_error": rng.normal(size=N)},
        "extra_units": {"tip": "m", "rcm_error": "m"},
        "provenance": {"arm": "PSM", "timestep": 1 / 1500, "note": 'a "quoted", odd: text', "gains": (1.5, 2)},
    } | changes


def assert_same(a: Recording, b: Recording) -> None:
    for name in ("t", "q", "dq", "ddq", "tau"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None), name
        # bytes, so that -0.0 and 0.0 differ
        assert x is None or x.tobytes() == y.tobytes(), name
    for group in ("commands", "extra"):
        x, y = getattr(a, group), getattr(b, group)
        assert set(x) == set(y)
        assert all(x[name].shape == y[name].shape and x[name].tobytes() == y[name].tobytes() for name in x)
    for name in ("joints", "joint_units", "space", "extra_units", "provenance"):
        assert getattr(a, name) == getattr(b, name), name


@pytest.mark.parametrize("suffix", ["npz", "csv"])
@pytest.mark.parametrize("changes", [{}, {"ddq": None, "tau": None, "commands": {}, "extra": {}, "extra_units": {}}])
def test_every_number_survives_saving_and_loading(tmp_path: Path, suffix: str, changes: dict[str, Any]) -> None:
    recording = Recording(**fields(**changes))
    path = recording.save(tmp_path / f"file.{suffix}")
    assert_same(Recording.load(path), recording)


def test_the_csv_header_has_names_and_units(tmp_path: Path) -> None:
    lines = Recording(**fields()).save(tmp_path / "file.csv").read_text().splitlines()
    assert '# arm: "PSM"' in lines
    header = next(line for line in lines if not line.startswith("#")).split(",")
    assert header[:5] == ["t [s]", "q_yaw [rad]", "q_wrist_pitch [m]", "dq_yaw [rad/s]", "dq_wrist_pitch [m/s]"]
    for title in ("tau_yaw [N m]", "tau_wrist_pitch [N]", "command_q_yaw [rad]", "tip[2] [m]", "rcm_error [m]"):
        assert title in header


def test_a_csv_from_another_program_is_read(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_bytes(
        "\ufeff# robot: PSM1 of the lab\r\ndq_a [rad/s], q_a [rad], t [s]\r\n\r\n1, 2, 0\r\n3,4,0.5\r\n".encode()
    )
    recording = Recording.load(path)
    assert recording.provenance == {"robot": "PSM1 of the lab"}
    assert recording.tau is None
    np.testing.assert_array_equal(recording.t, [0.0, 0.5])
    np.testing.assert_array_equal(recording.q, [[2.0], [4.0]])
    np.testing.assert_array_equal(recording.dq, [[1.0], [3.0]])


HEADER = "t [s],q_a [rad],dq_a [rad/s]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the file ends before a header"),
        (HEADER, "line 2: the file has no row"),
        (HEADER + "0,1,2\n1,2\n", "line 3: 2 values, but the header names 3 columns"),
        (HEADER + "0,1,2\n\n1,x,2\n", "line 4: 'x' in column 'q_a [rad]' is not a number"),
        (HEADER + "0,1,2\n1,nan,2\n", "line 3: row 1: q of a is nan"),
        ("# a: 1\n" + HEADER + "0,1,2\n0,1,2\n", "line 4: row 1: t = 0.0 s does not come after 0.0 s"),
        ("t [s],q_a,dq_a [rad/s]\n0,1,2\n", "line 1: column 'q_a' has no unit"),
        ("t [ms],q_a [rad],dq_a [rad/s]\n0,1,2\n", "line 1: the column 't [s]' is missing"),
        ("t [s],q_a [deg],dq_a [deg/s]\n0,1,2\n", "'deg' is unknown"),
        ("t [s],q_a [rad],dq_a [deg/s]\n0,1,2\n", "line 1: the column 'dq_a [rad/s]' is missing"),
        ("t [s],q_a [rad]\n0,1\n", "dq is missing"),
        ("t [s],x [rad]\n0,1\n", "line 1: no column gives a joint position"),
        ("t [s],q_a [rad],q_a [rad]\n0,1,2\n", "line 1: column 'q_a' occurs twice"),
        (HEADER.replace("\n", ",tip[1] [m]\n") + "0,1,2,3\n", "line 1: column 'tip[1]' is out of order"),
        (HEADER.replace("\n", ",dq_b [rad/s]\n") + "0,1,2,3\n", "'dq_b' would be read as a joint channel"),
    ],
)
def test_a_bad_csv_is_one_error_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(TrocarError) as caught:
        Recording.load(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_a_bad_npz_is_one_error_with_the_file(tmp_path: Path) -> None:
    text, other, cut = (tmp_path / f"{name}.npz" for name in ("text", "other", "cut"))
    text.write_text("not a zip file")
    np.savez(other, x=np.zeros(3))
    cut.write_bytes(Recording(**fields()).save(tmp_path / "whole.npz").read_bytes()[:-200])
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, about=np.array({"joints": []}, dtype=object))
    for path in (text, other, cut, pickled):
        with pytest.raises(TrocarError, match=f"{path.name}: not a recording"):
            Recording.load(path)


@pytest.mark.parametrize("name", ["file.txt", "file"])
def test_other_suffixes_are_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(TrocarError, match=r"must end in \.npz or \.csv"):
        Recording(**fields()).save(tmp_path / name)
    with pytest.raises(TrocarError, match=r"must end in \.npz or \.csv"):
        Recording.load(tmp_path / name)
    assert not list(tmp_path.iterdir())


def with_value(name: str, index: tuple[int, ...], value: float) -> dict[str, Any]:
    array = np.array(fields()[name])
    array[index] = value
    return {name: array}


@pytest.mark.parametrize(
    ("changes", "message", "row"),
    [
        ({"q": np.zeros((N, 3))}, r"q must have shape \(6, 2\)", None),
        ({"tau": np.zeros((N - 1, 2))}, r"tau must have shape \(6, 2\)", None),
        ({"t": np.zeros((N, 1))}, r"t must have shape \(N,\)", None),
        ({"t": []}, r"t must have shape \(N,\)", None),
        ({"q": "text"}, "q must be an array of numbers, it holds text", None),
        ({"dq": None}, "dq is missing", None),
        (with_value("tau", (4, 1), np.nan), "row 4: tau of wrist_pitch is nan", 4),
        (with_value("ddq", (2, 0), -np.inf), "row 2: ddq of yaw is -inf", 2),
        (with_value("t", (3,), np.nan), "row 3: t is nan", 3),
        (with_value("t", (3,), -1.0), "row 3: t = -1.0 s does not come after", 3),
        ({"commands": {"q": np.full((N, 2), np.nan)}}, "row 0: command_q of yaw is nan", 0),
        ({"commands": {"speed": np.zeros((N, 2))}}, "command 'speed' is unknown", None),
        ({"extra": {"tip": np.full((N, 3), np.inf)}}, r"row 0: tip\[0\] is inf", 0),
        ({"extra": {"tip": np.zeros(3)}, "extra_units": {}}, r"tip must have shape \(6,\)", None),
        ({"extra": {"q_yaw": np.zeros(N)}, "extra_units": {}}, "would be read as a joint channel", None),
        ({"extra": {"a,b": np.zeros(N)}, "extra_units": {}}, "the name 'a,b'", None),
        ({"extra_units": {"tipp": "m"}}, "Did you mean 'tip'", None),
        ({"joints": ("yaw", "yaw")}, "different names", None),
        ({"joint_units": ("rad",)}, "1 joint_units for 2 joints", None),
        ({"joint_units": ("rad", "mm")}, "'mm' is unknown", None),
        ({"provenance": {"x": object()}}, "JSON", None),
        ({"provenance": {"x": float("nan")}}, "JSON", None),
        ({"provenance": {"a: b": 1}}, "without a colon", None),
    ],
)
def test_invalid_recordings_are_rejected(changes: dict[str, Any], message: str, row: int | None) -> None:
    with pytest.raises(TrocarError, match=message) as caught:
        Recording(**fields(**({"extra_units": {}} if "extra" in changes else {}) | changes))
    assert getattr(caught.value, "row", None) == row


def test_arrays_are_copied_and_read_only() -> None:
    given = fields()
    recording = Recording(**given)
    given["q"][0] = 7.0
    assert recording.q[0, 0] == 0.1 + 0.2
    with pytest.raises(ValueError, match="read-only"):
        recording.q[0] = 1.0
    with pytest.raises(TypeError):
        recording.extra["new"] = np.zeros(N)  # type: ignore[index]


def test_between_selects_the_rows_of_a_time_span_in_every_channel() -> None:
    recording = Recording(**fields())
    part = recording.between(recording.t[1], recording.t[3])
    assert len(part) == 3
    np.testing.assert_array_equal(part.tau, recording.tau[1:4])
    np.testing.assert_array_equal(part.commands["q"], recording.commands["q"][1:4])
    np.testing.assert_array_equal(part.extra["rcm_error"], recording.extra["rcm_error"][1:4])
    assert part.provenance == recording.provenance
    with pytest.raises(InvalidRecording, match="no row between 100"):
        recording.between(100.0, 200.0)


def test_the_provenance_can_be_extended() -> None:
    recording = Recording(**fields())
    assert replace(recording, provenance={**recording.provenance, "more": True}).provenance["more"] is True


def test_rows_that_repeat_a_time_are_dropped_on_request(tmp_path):
    path = tmp_path / "measured.csv"
    rows = ["0.0,1.0,2.0,3.0", "0.1,1.1,2.1,3.1", "0.1,1.1,2.1,3.1", "0.2,1.2,2.2,3.2"]
    path.write_text("\n".join(["t [s],q_yaw [rad],dq_yaw [rad/s],tau_yaw [N m]", *rows]))
    with pytest.raises(TrocarError, match=r"line 4: .*times must increase"):
        Recording.load(path)
    recording = Recording.load(path, drop_repeats=True)
    np.testing.assert_array_equal(recording.t, [0.0, 0.1, 0.2])
    np.testing.assert_array_equal(recording.tau[:, 0], [3.0, 3.1, 3.2])
    assert recording.provenance["dropped_rows"] == 1
    path.write_text("\n".join(["t [s],q_yaw [rad],dq_yaw [rad/s]", "0.1,1,2", "0.0,1,2"]))
    with pytest.raises(TrocarError, match="times must increase"):
        Recording.load(path, drop_repeats=True)


def test_averaging_removes_the_steps_of_commands():
    """Steps of 200 Hz read at 1500 Hz: readings at one phase are biased, means are not."""
    t = np.arange(3000) / 1500
    ripple = np.modf(200 * t + 1e-9)[0] - 0.5
    channel = {"q": np.sin(t)[:, None], "dq": np.cos(t)[:, None], "tau": (1.0 + ripple)[:, None]}
    recording = Recording(t=t, **channel, joints=("yaw",), joint_units=("rad",))
    slow = averaged(recording, 400.0)
    assert len(slow) == 750
    assert abs(lowpass(slow.tau, 17.0, 375.0)[100:-100] - recording.tau.mean()).max() < 0.01
    np.testing.assert_allclose(slow.q[:, 0], np.sin(slow.t), atol=1e-5)
    assert averaged(slow, 400.0) is slow
