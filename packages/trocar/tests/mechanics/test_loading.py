"""Recordings from any file, in joints; and the measured effort predicted along them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from trocar.control.observers import external_effort
from trocar.errors import TrocarError
from trocar.recording import filtered
from trocar.recording.loading import is_recording
from trocar.recording.motor_columns import joint_from_columns, table_columns

RATE = 200.0


def moving(arm: str, rows: int = 60) -> tr.Recording:
    """A smooth motion of all joints with random efforts and commands, in joints."""
    robot = tr.load_arm(arm)
    rng = np.random.default_rng(3)
    t = np.arange(rows) / RATE
    phase, way = 2 * np.pi * t[:, None] + np.arange(robot.n), 0.2 * (robot.upper - robot.lower)
    q = (robot.lower + robot.upper) / 2 + way * np.sin(phase)
    dq, ddq = 2 * np.pi * way * np.cos(phase), -((2 * np.pi) ** 2) * way * np.sin(phase)
    commands = {"q": q + 0.01, "tau": rng.normal(size=q.shape), "tip_position": rng.normal(size=(rows, 3))}
    return tr.Recording(
        t=t,
        q=q,
        dq=dq,
        ddq=ddq,
        tau=rng.normal(size=q.shape),
        joints=robot.joint_names,
        joint_units=robot.joint_units,
        commands=commands,
        provenance={"arm": arm},
    )


def in_motors(recording: tr.Recording, arm: str) -> tr.Recording:
    """The same recording in the columns of a published table."""
    robot = tr.load_arm(arm)
    columns = table_columns(robot)
    T = joint_from_columns(robot, columns)
    back = np.linalg.inv(T).T
    commands = {"q": recording.commands["q"] @ back, "tau": recording.commands["tau"] @ T}
    return replace(
        recording,
        q=recording.q @ back,
        dq=recording.dq @ back,
        ddq=recording.ddq @ back,
        tau=recording.tau @ T,
        commands={**recording.commands, **commands},
        joints=columns,
        space="motors",
    )


@pytest.mark.parametrize("arm", ["PSM", "MTML"])
@pytest.mark.parametrize("suffix", ["npz", "csv"])
def test_motor_columns_survive_a_file_and_load_in_joints(tmp_path: Path, arm: str, suffix: str) -> None:
    recording = moving(arm)
    motors = in_motors(recording, arm)
    assert np.abs(motors.q - recording.q).max() > 0.05  # the coupling is not the identity
    path = motors.save(tmp_path / f"motors.{suffix}")
    assert tr.Recording.load(path).space == "motors"
    as_recorded = tr.load_recording(path, as_recorded=True)
    assert as_recorded.q.tobytes() == motors.q.tobytes()
    loaded = tr.load_recording(path)
    assert (loaded.space, loaded.joints, loaded.joint_units) == ("joints", recording.joints, recording.joint_units)
    for name in ("q", "dq", "ddq", "tau"):
        np.testing.assert_allclose(getattr(loaded, name), getattr(recording, name), atol=1e-12)
    for name, value in recording.commands.items():
        np.testing.assert_allclose(loaded.commands[name], value, atol=1e-12)


def test_a_csv_with_motor_names_in_its_header_is_recognised(tmp_path: Path) -> None:
    motors = replace(in_motors(moving("PSM"), "PSM"), space="joints", provenance={})
    path = motors.save(tmp_path / "motors.csv")
    assert tr.load_recording(path, "PSM", as_recorded=True).space == "motors"
    np.testing.assert_allclose(tr.load_recording(path, "PSM").q, moving("PSM").q, atol=1e-12)
    assert tr.load_recording(path).joints == motors.joints  # without an arm nothing is known of motors


def test_columns_and_rate_of_a_table_can_be_given(tmp_path: Path) -> None:
    recording = moving("PSM")
    path = tmp_path / "table.csv"
    np.savetxt(path, np.hstack([recording.q, recording.dq, recording.tau]), delimiter=",", fmt="%.17g")
    loaded = tr.load_recording(path, "PSM", columns=recording.joints, rate=100.0)
    assert loaded.q.tobytes() == recording.q.tobytes()
    assert loaded.t[1] == 0.01
    assert tr.load_recording(path, "PSM").t[1] == 0.005
    with pytest.raises(TrocarError, match="does not name its arm"):
        tr.load_recording(path)


def test_a_recording_in_joints_is_not_converted_again() -> None:
    with pytest.raises(TrocarError, match="in joints already"):
        moving("PSM").in_joints("PSM")


def test_columns_that_do_not_fit_the_arm_are_rejected() -> None:
    motors = in_motors(moving("PSM"), "PSM")
    with pytest.raises(TrocarError, match="'yaw' is unknown"):
        motors.in_joints("MTML")
    short = replace(
        motors,
        **{name: getattr(motors, name)[:, :6] for name in ("q", "dq", "ddq", "tau")},
        commands={},
        joints=motors.joints[:6],
        joint_units=motors.joint_units[:6],
    )
    with pytest.raises(TrocarError, match="do not determine the 7 joints of PSM"):
        short.in_joints("PSM")


def test_an_unknown_space_is_rejected() -> None:
    with pytest.raises(TrocarError, match="'cables' is unknown"):
        replace(moving("PSM"), space="cables")


# -- measured effort along a recording ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("arm", "parameters"), [("PSM", "wang2019"), ("ECM", None), ("MTMR", "wang2019")])
def test_effort_along_a_recording_is_the_regressor_times_the_parameters(arm: str, parameters: str | None) -> None:
    mechanism, recording = tr.load_mechanism(arm, parameters), moving(arm)
    Y = mechanism.regressor_along(recording.q, recording.dq, recording.ddq)
    np.testing.assert_allclose(mechanism.effort_along(recording), Y @ mechanism.parameter_vector, atol=1e-9)


def test_effort_along_a_recording_without_accelerations_is_that_of_its_filtered_motion() -> None:
    mechanism, recording = tr.load_mechanism("PSM"), moving("PSM", 400)
    exact = mechanism.effort_along(recording)
    found = mechanism.effort_along(replace(recording, ddq=None))
    error = np.abs(found - exact)[100:-100]  # filters have no history at the ends
    assert 0 < np.quantile(error, 0.98) < 1e-4
    assert (error > 1e-4).sum() <= 3 * mechanism.n  # a row at a reversal may have the other sign of friction
    np.testing.assert_array_equal(found, mechanism.effort_along(filtered(replace(recording, ddq=None))))


def test_models_reject_recordings_in_motor_columns_or_of_another_arm() -> None:
    mechanism, motors = tr.load_mechanism("PSM"), in_motors(moving("PSM"), "PSM")
    for predict in (mechanism.effort_along, lambda recording: external_effort(mechanism, recording)):
        with pytest.raises(TrocarError, match=r"motor columns .*in_joints\('PSM'\)"):
            predict(motors)
        with pytest.raises(TrocarError, match="the recording has the joints yaw, pitch, insertion, roll; PSM has"):
            predict(moving("ECM"))
    np.testing.assert_allclose(
        mechanism.effort_along(motors.in_joints("PSM")), mechanism.effort_along(moving("PSM")), atol=1e-10
    )


def test_a_recording_of_one_row_is_rejected() -> None:
    with pytest.raises(TrocarError, match="one row"):
        tr.load_mechanism("PSM").effort_along(moving("PSM", 1))


def test_a_folder_is_a_recording_if_it_holds_a_ros_2_bag(tmp_path: Path) -> None:
    assert not is_recording(tmp_path)
    (tmp_path / "metadata.yaml").touch()
    assert is_recording(tmp_path)
    assert is_recording(Path("x.CSV"))
    assert not is_recording(Path("PSM"))


def test_the_arm_name_in_a_foreign_file_is_ignored(tmp_path: Path) -> None:
    path = replace(moving("ECM"), provenance={"arm": ["our", "ECM"]}).save(tmp_path / "ecm.csv")
    assert tr.load_recording(path).joints == moving("ECM").joints
