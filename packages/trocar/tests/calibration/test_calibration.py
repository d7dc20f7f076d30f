"""Calibration from markers: exact poses give exact lengths, noisy ones stay within their noise, errors are reported."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

import trocar as tr
from trocar.arms import Geometry, published
from trocar.calibration import (
    Jump,
    TooLittleMotion,
    calibrate,
    calibration_motion,
    hand_eye,
    measured_linkage,
    model_distances,
    pivot,
    register,
    revolute_axis,
)
from trocar.calibration.axes import sliding_direction
from trocar.cli import app
from trocar.control import ComputedTorque, sinusoid
from trocar.errors import TrocarError
from trocar.recording import Markers
from trocar.simulation.sensors.motion_capture import MotionCapture
from trocar.spatial import inverse, pose

pytestmark = pytest.mark.xdist_group("calibration")  # one worker: fixtures are built once
NOISE = 0.2e-3  # [m]
GEOMETRIES = (("PSM", "gondokaryono2019"), ("PSM", "wang2019"), ("ECM", "gondokaryono2019"))
UNITS = ("rad", "rad", "m", "rad", "rad", "rad", "rad")


def captured(arm="PSM", geometry="gondokaryono2019", duration=6.0, offset=0.0, still=(), **cameras):
    """Cameras, markers and mechanism; `offset` of the pitch reading, `still` joints kept at home."""
    mechanism = tr.Mechanism(tr.load_arm(arm, geometry))
    t, q = calibration_motion(mechanism.arm, duration)
    for joint in still:
        q[:, mechanism.arm.joint_names.index(joint)] = mechanism.arm.home[mechanism.arm.joint_names.index(joint)]
    capture = MotionCapture(mechanism.arm, **cameras)
    markers = capture.of_motion(mechanism, t, q)
    reading = q - np.eye(mechanism.n)[1] * offset
    return capture, replace(markers, q=reading), mechanism


def distance_error(found, arm):
    wanted = model_distances(arm)
    return max(abs(value - wanted[pair]) for pair, (value, _) in found.linkage.distances.items())


@pytest.fixture(scope="module")
def exact():
    return captured()


@pytest.fixture(scope="module")
def noisy():
    return captured(duration=60.0, noise=NOISE, occlusion=0.1)


# Axes and pivots


def turned(h, g, angles, T_b):
    """Poses of a body that turns about the line through g along h."""
    R = Rotation.from_rotvec(np.outer(angles, h)).as_matrix()
    return np.array([pose(r, g - r @ g) for r in R]) @ T_b


def test_an_axis_is_found_on_both_links():
    rng = np.random.default_rng(3)
    h, g = rng.normal(size=3), rng.normal(size=3)
    h /= np.linalg.norm(h)
    T_b = pose(Rotation.random(rng=rng).as_matrix(), rng.normal(size=3))
    axis = revolute_axis(turned(h, g, np.linspace(-0.4, 0.7, 50), T_b))
    assert abs(axis.h_a @ h) == pytest.approx(1, abs=1e-14)
    assert np.linalg.norm(np.cross(axis.g_a - g, h)) < 1e-13
    in_b = inverse(T_b)
    assert np.linalg.norm(np.cross(axis.g_b - (in_b @ [*g, 1])[:3], in_b[:3, :3] @ h)) < 1e-13
    assert axis.turn == pytest.approx(1.1)
    assert axis.rms < 1e-13


def test_the_spread_of_an_axis_over_trials_is_the_one_it_reports():
    rng = np.random.default_rng(0)
    T = turned(np.array([0, 0, 1.0]), np.array([0.2, 0, 0]), np.linspace(-0.5, 0.5, 200), np.eye(4))
    found = []
    for _ in range(60):
        seen = T.copy()
        seen[:, :3, 3] += rng.normal(0, 1e-3, (200, 3))
        found.append(revolute_axis(seen))
    spread = np.std([axis.g_a[:2] for axis in found], axis=0)
    reported = np.sqrt(np.mean([np.diag(axis.covariance_a)[:2] for axis in found], axis=0))
    np.testing.assert_allclose(spread, reported, rtol=0.3)


def test_a_sliding_direction_needs_a_slide():
    T = np.tile(np.eye(4), (20, 1, 1))
    value = np.linspace(0, 0.1, 20)
    T[:, :3, 3] = np.outer(value, [0.6, 0, 0.8])
    np.testing.assert_allclose(sliding_direction(T, value), [0.6, 0, 0.8], atol=1e-14)
    with pytest.raises(TooLittleMotion, match=r"slide by 0\.0100 m"):
        sliding_direction(T, value / 10)
    with pytest.raises(tr.TrocarError, match=r"0\.001 m per m"):
        sliding_direction(T, 1e3 * value)


def test_a_pivot_is_the_fixed_point_and_its_rms_does_not_grow_with_the_rows():
    """Eq. (5) of the paper lacks 1/n: as printed, twice the rows would give sqrt(2) times the error."""
    rng = np.random.default_rng(1)
    R = Rotation.random(100, rng=rng).as_matrix()
    tip, post = np.array([0.1, -0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    T = np.array([pose(r, post - r @ tip) for r in R])
    found = pivot(T)
    np.testing.assert_allclose(np.concatenate([found.tip, found.post]), [*tip, *post], atol=1e-14)
    T[:, :3, 3] += rng.normal(0, 1e-3, (100, 3))
    once, twice = pivot(T), pivot(np.concatenate([T, T]))
    np.testing.assert_allclose(once.rms, twice.rms, rtol=1e-9)
    assert once.rms == pytest.approx(np.full(3, 1e-3), rel=0.25)


def test_a_pivot_needs_two_axes():
    T = turned(np.array([0, 0, 1.0]), np.zeros(3), np.linspace(-1, 1, 50), np.eye(4))
    with pytest.raises(TooLittleMotion, match="about one axis only"):
        pivot(T)


# Whole arms


@pytest.mark.parametrize(("arm", "geometry"), GEOMETRIES)
def test_exact_poses_give_exact_lengths_rcm_and_base(arm, geometry):
    capture, markers, mechanism = captured(arm, geometry)
    found = calibrate(markers, arm, geometry)
    assert distance_error(found, mechanism.arm) < 1e-9
    assert np.linalg.norm(found.rcm.post - capture.T_camera_base[:3, 3]) < 1e-9
    assert found.rcm.spread < 1e-9
    np.testing.assert_allclose(found.T_camera_base, capture.T_camera_base, atol=1e-9)
    for name in found.lengths.sigma:
        assert found.geometry.lengths[name] == pytest.approx(published(arm)[geometry][name], abs=1e-9)
    assert abs(found.lengths.pitch_offset) < 1e-9
    assert max(found.linkage.gaps.values()) < 1e-9


@pytest.mark.parametrize(("arm", "seed"), [("PSM", 0), ("PSM", 1), ("ECM", 0), ("ECM", 1)])
def test_noise_of_a_fifth_of_a_millimetre_causes_errors_below_a_tenth(arm, seed):
    capture, markers, mechanism = captured(arm, duration=60.0, noise=NOISE, occlusion=0.1, seed=seed)
    found = calibrate(markers, arm)
    assert distance_error(found, mechanism.arm) < 1e-4
    assert np.linalg.norm(found.rcm.post - capture.T_camera_base[:3, 3]) < 1e-4
    wanted = model_distances(mechanism.arm)
    for pair, (value, sigma) in found.linkage.distances.items():
        assert abs(value - wanted[pair]) < 4 * sigma, pair


@pytest.mark.parametrize(("arm", "geometry"), GEOMETRIES)
def test_errors_of_the_lengths_are_as_large_as_reported(arm, geometry):
    """Root mean square of error / sigma over lengths and seeds; without bias and with 20 parts it is 1.06."""
    scores = []
    for seed in range(4):
        _, markers, _ = captured(arm, geometry, duration=12.0, noise=NOISE, occlusion=0.1, seed=seed)
        lengths = calibrate(markers, arm, geometry).lengths
        true = published(arm)[geometry]
        scores += [(lengths.geometry.lengths[name] - true[name]) / sigma for name, sigma in lengths.sigma.items()]
    assert 0.7 < np.sqrt(np.mean(np.square(scores))) < 1.45


def test_one_pose_of_each_link_would_be_worse(noisy):
    """The paper moves axes to the camera frame with the pose of their link at pitch 0."""
    _, markers, mechanism = noisy
    found = measured_linkage(markers, "PSM")
    rows = np.flatnonzero(markers.seen("back", "bottom") & (np.abs(markers.joint("pitch")) < 0.02))

    def length(row):
        six = markers.poses["back"][row] @ [*found.axes["6"].g_a, 1]
        eight = markers.poses["bottom"][row] @ [*found.axes["8"].g_a, 1]
        return np.linalg.norm(np.cross((eight - six)[:3], markers.poses["back"][row, :3, :3] @ found.axes["6"].h_a))

    wanted = model_distances(mechanism.arm)["6-8"]
    theirs = np.sqrt(np.mean([(length(row) - wanted) ** 2 for row in rows]))
    assert theirs > 3 * abs(found.distances["6-8"][0] - wanted)
    assert theirs > 1e-4


def test_a_custom_machine_is_calibrated_written_and_simulated(tmp_path):
    base = published("PSM")["gondokaryono2019"]
    change = {"l_back": 1.3e-3, "l_bottom": -0.8e-3, "a_front": 0.5e-3, "a_insertion": -0.4e-3, "beta2": 0.004}
    own = Geometry(
        name="own",
        arm="PSM",
        frames="gondokaryono2019",
        lengths={**base, **{name: base[name] + d for name, d in change.items()}},
        source="a test",
    )
    _, markers, machine = captured(geometry=own)
    found = calibrate(markers)
    path = found.write(tmp_path / "own.toml")
    mechanism = tr.load_mechanism("PSM", path)
    assert mechanism.arm.geometry == "own"
    assert tr.load_arm("PSM", path).geometry == "own"
    q = np.array([0.3, -0.4, 0.1, 0.2, 0.3, -0.2, 0.1])
    for body, T in machine.poses(q).items():
        np.testing.assert_allclose(mechanism.poses(q)[body], T, atol=1e-9, err_msg=body)
    assert mechanism.loop_residual(q).max() < 1e-12
    assert mechanism.parameters.name == "gondokaryono2019"
    sim = tr.Simulator("PSM", path)
    sim.step(mechanism.gravity(sim.q))
    assert sim.rcm_error() < 1e-8


def test_the_zero_of_the_pitch_is_found_from_the_insertion():
    found = calibrate(captured(offset=0.02)[1])
    assert found.lengths.pitch_offset == pytest.approx(0.02, abs=1e-9)
    assert found.geometry.lengths["a_insertion"] == pytest.approx(0.043, abs=1e-9)


def test_without_the_insertion_the_pitch_zero_is_assumed_with_a_note():
    found = calibrate(captured(still=("insertion",))[1])
    assert found.lengths.pitch_offset is None
    assert any("pitch zero" in note for note in found.notes)
    assert found.geometry.lengths["a_insertion"] == pytest.approx(0.043, abs=1e-9)


def test_the_papers_five_links_with_a_still_yaw_give_lengths_but_no_rcm():
    bodies = ("back", "front", "bottom", "top", "end")
    _, markers, mechanism = captured(still=("yaw",), bodies=bodies)
    found = calibrate(markers)
    assert distance_error(found, mechanism.arm) < 1e-9
    assert found.rcm is None
    assert any("about one axis only" in note for note in found.notes)


def test_lengths_without_marked_links_are_kept():
    found = calibrate(captured(bodies=("yaw", "back", "front", "bottom", "end", "insertion"))[1])
    assert "l_back_top" not in found.lengths.sigma
    assert found.geometry.lengths["l_back_top"] == 0.1842
    assert found.geometry.lengths["l_back"] == pytest.approx(0.150, abs=1e-9)


def test_the_engine_in_front_of_noisy_cameras_is_calibrated():
    sim = tr.Simulator("PSM", "gondokaryono2019", contacts=False)
    mechanism = tr.load_mechanism("PSM", "gondokaryono2019")
    amplitude = np.array([0.7, 0.7, 0.1, 0, 0, 0, 0])
    reference = sinusoid(sim.arm.home, amplitude, [0.31, 0.43, 0.23, 1, 1, 1, 1])
    sim.reset(sim.arm.home, reference(0).dq)
    capture = MotionCapture(sim.arm, noise=NOISE, occlusion=0.1)
    markers = capture.of_simulation(sim, ComputedTorque(mechanism, kp=400.0, kd=40.0), reference, 6.0)
    assert len(markers) == 600
    found = calibrate(markers)
    assert distance_error(found, mechanism.arm) < 4e-4  # a tenth of the rows of the test above
    assert np.linalg.norm(found.rcm.post - capture.T_camera_base[:3, 3]) < 2e-4


# Hand-eye


def test_hand_eye_solves_ax_xb():
    rng = np.random.default_rng(5)
    X = pose(Rotation.random(rng=rng).as_matrix(), [0.1, 0.2, -0.3])
    A = np.array(
        [pose(R, p) for R, p in zip(Rotation.random(8, rng=rng).as_matrix(), rng.normal(size=(8, 3)), strict=True)]
    )
    np.testing.assert_allclose(hand_eye(A, inverse(X) @ A @ X), X, atol=1e-12)


@pytest.mark.parametrize(
    ("arm", "offsets"),
    [("PSM", {"pitch": 0.02, "insertion": 0.002, "roll": -0.03, "wrist_pitch": 0.01}), ("ECM", {"pitch": -0.015})],
)
def test_registration_finds_base_markers_and_identifiable_offsets(arm, offsets):
    mechanism = tr.load_mechanism(arm)
    _, q = calibration_motion(mechanism.arm, 10.0)
    capture = MotionCapture(mechanism.arm, ["tip"])
    seen = capture.of_motion(mechanism, np.arange(len(q)) / 100, q).poses["tip"]
    shift = np.array([offsets.get(name, 0.0) for name in mechanism.arm.joint_names])
    found = register(mechanism, q - shift, seen)
    assert found.offsets == pytest.approx(offsets, abs=1e-9)
    np.testing.assert_allclose(found.T_camera_base, capture.T_camera_base, atol=1e-9)
    np.testing.assert_allclose(found.T_tip_marker, capture.T_link_markers["tip"], atol=1e-9)
    assert found.position_rms < 1e-9


def test_markers_on_the_tip_give_a_registration_that_agrees_with_the_axes():
    bodies = ("yaw", "back", "front", "bottom", "top", "end", "insertion", "tip")
    capture, markers, _ = captured(bodies=bodies)
    found = calibrate(markers)
    np.testing.assert_allclose(found.registration.T_camera_base, capture.T_camera_base, atol=1e-8)


def test_registration_needs_rotations_about_two_axes():
    mechanism = tr.load_mechanism("PSM")
    q = np.tile(mechanism.arm.home, (50, 1))
    q[:, 0] = np.linspace(-0.5, 0.5, 50)
    with pytest.raises(TooLittleMotion, match="two axes"):
        register(mechanism, q, mechanism.forward_kinematics(q))


# Errors in marker files


@pytest.mark.parametrize(
    "pair", [("back", "front"), ("top", "bottom"), ("back", "end"), ("yaw", "bottom")], ids="-".join
)
def test_swapped_link_names_are_reported(exact, pair):
    a, b = pair
    with pytest.raises(tr.TrocarError, match=r"the markers of '\w+' and '\w+' are swapped") as error:
        calibrate(exact[1].renamed({a: b, b: a}))
    assert a in str(error.value)
    assert b in str(error.value)


def test_a_link_that_does_not_turn_with_the_pitch_is_named(exact):
    with pytest.raises(tr.TrocarError, match=r"'(back|bottom)' turns by \d\.\d\d rad per rad of pitch"):
        calibrate(exact[1].renamed({"back": "bottom", "bottom": "back"}))


def test_another_arm_is_recognised(exact):
    with pytest.raises(tr.TrocarError, match=r"mm from those of the ECM .*another arm"):
        calibrate(exact[1], "ECM")


def with_jump(markers):
    """Front and end take each other's place for a while."""
    front, end = markers.poses["front"].copy(), markers.poses["end"].copy()
    front[300:340], end[300:340] = end[300:340].copy(), front[300:340].copy()
    return replace(markers, poses={**markers.poses, "front": front, "end": end})


def test_temporarily_swapped_bodies_are_reported_with_their_rows(exact):
    with pytest.raises(Jump, match=r"in 40 of 600 rows, from line 300 \(t = 3\.000 s\)") as error:
        calibrate(with_jump(exact[1]))
    assert np.flatnonzero(error.value.rows).tolist() == list(range(300, 340))


def test_rows_with_jumps_can_be_dropped(exact):
    found = calibrate(with_jump(exact[1]), drop_jumps=True)
    assert found.dropped == 40
    assert distance_error(found, exact[2].arm) < 1e-9


def test_too_little_pitch_is_reported(exact):
    markers = exact[1]
    few = markers.without(np.abs(markers.joint("pitch")) > 0.05)
    with pytest.raises(TooLittleMotion, match=r"the pitch moves by 0\.\d+ rad, too little to find axes"):
        calibrate(few)


def test_links_seen_together_too_rarely_are_reported(exact):
    markers = exact[1]
    front = markers.poses["front"].copy()
    front[5:] = np.nan
    with pytest.raises(TooLittleMotion, match="'front' are seen together in 5 rows only"):
        calibrate(replace(markers, poses={**markers.poses, "front": front}))


def test_a_moving_yaw_without_markers_is_reported(exact):
    poses = {body: T for body, T in exact[1].poses.items() if body != "yaw"}
    with pytest.raises(tr.TrocarError, match="the yaw link has no markers"):
        calibrate(replace(exact[1], poses=poses))


@pytest.mark.parametrize(
    ("arm", "frames", "words"),
    [("MTML", "wang2019", "arm that can be calibrated"), ("PSM", "zhou2025", "Known: gondokaryono2019, wang2019")],
)
def test_arms_and_frames_without_a_calibration_are_named(exact, arm, frames, words):
    with pytest.raises(tr.TrocarError, match=words):
        calibrate(exact[1], arm, frames)


def test_nothing_is_not_markers():
    with pytest.raises(tr.TrocarError, match="markers must be Markers"):
        calibrate(None)


def test_unknown_links_are_named(exact):
    with pytest.raises(tr.TrocarError, match=r"marked link 'bak' is unknown. Did you mean 'back'"):
        calibrate(exact[1].renamed({"back": "bak"}))


# Files


def test_markers_read_back_as_they_were_written(tmp_path, noisy):
    markers = noisy[1]
    short = markers.without(np.arange(len(markers)) >= 200)
    found = Markers.load(short.save(tmp_path / "markers.csv", UNITS))
    np.testing.assert_array_equal(found.t, short.t)
    np.testing.assert_array_equal(found.q, short.q)
    for body, T in short.poses.items():
        np.testing.assert_allclose(found.poses[body], T, atol=1e-14, equal_nan=True)
    assert 0 < found.seen("end").mean() < 1
    assert found.longest_gap("end") > 0.02


HEADER = "t [s],q_pitch [rad],end_x [mm],end_y [mm],end_z [mm],end_qw,end_qx,end_qy,end_qz"


@pytest.mark.parametrize("units", [["furlong"] * 3, ["deg", "rad", "m"], ["rad", "rad", "mm"], ["rad", "rad"], "rad"])
def test_marker_units_read_back_unchanged(tmp_path, units):
    body = np.eye(4)[None]
    markers = Markers(t=[0.0], q=[[0.0, 0.0, 0.1]], joints=["yaw", "pitch", "insertion"], poses={"end": body})
    with pytest.raises(TrocarError, match=r"^joint_units must be rad or m for each of yaw, pitch, insertion, got"):
        markers.save(tmp_path / "markers.csv", units)
    assert not any(tmp_path.iterdir())


def test_marker_names_that_cannot_be_read_back_are_rejected(tmp_path):
    markers = Markers(t=[0.0], q=[[0.0]], joints=["yaw, left"], poses={"end": np.eye(4)[None]})
    with pytest.raises(TrocarError, match="not written: column 'q_yaw, left"):
        markers.save(tmp_path / "markers.csv", ["rad"])
    assert not any(tmp_path.iterdir())


def test_millimetres_and_gaps_are_read(tmp_path):
    file = tmp_path / "m.csv"
    file.write_text(f"# mine\n{HEADER}\n0,0.1,1000,0,0,1,0,0,0\n\n0.1,0.2,,,,,,,\n")
    found = Markers.load(file)
    np.testing.assert_array_equal(found.poses["end"][0], pose(p=[1, 0, 0]))
    assert found.seen("end").tolist() == [True, False]
    assert found.lines.tolist() == [3, 5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEADER, "line 2: the file has no row of numbers"),
        (f"{HEADER}\n0,0,1,0,0,1,0,0\n", "line 2: 8 values, but the header names 9"),
        (f"{HEADER}\n0,0,x,0,0,1,0,0,0\n", "line 2: 'x' in column 'end_x .mm.' is not a number"),
        (f"{HEADER}\n0,0,1,0,0,2,0,0,0\n", "line 2: the quaternion of 'end' has length 2, not 1"),
        (f"{HEADER}\n0,,1,0,0,1,0,0,0\n", "line 2: a joint value is missing"),
        (f"{HEADER}\n0,0,1,0,0,1,0,0,0\n0,0,1,0,0,1,0,0,0\n", "line 3: the time does not increase"),
        (f"{HEADER.replace(' [mm]', '')}\n0,0,1,0,0,1,0,0,0\n", r"column 'end_x' needs its unit: \[m\], \[mm\]"),
        (f"{HEADER.replace(',end_qz', '')}\n0,0,1,0,0,1,0,0\n", "the pose of 'end' lacks the column 'end_qz'"),
        (f"{HEADER},speed\n0,0,1,0,0,1,0,0,0,1\n", "column 'speed' is not one of"),
        ("q_pitch [rad]\n0\n", "the column 't .s.' is missing"),
    ],
)
def test_an_invalid_file_is_reported_with_its_line(tmp_path, text, words):
    file = tmp_path / "m.csv"
    file.write_text(text)
    with pytest.raises(tr.TrocarError, match=words):
        Markers.load(file)


def own_file(tmp_path, old="", new=""):
    base = published("PSM")["gondokaryono2019"]
    lengths = "\n".join(f"{name} = {value}" for name, value in base.items() if isinstance(value, float))
    text = f'arm = "PSM"\nframes = "gondokaryono2019"\nsource = "a test"\n[lengths]\n{lengths}\n'
    assert old in text
    file = tmp_path / "own.toml"
    file.write_text(text.replace(old, new))
    return file


def test_a_geometry_file_without_parameters_gives_kinematics(tmp_path):
    mechanism = tr.load_mechanism("PSM", own_file(tmp_path))
    assert mechanism.parameters is None
    assert mechanism.arm.sources["geometry"] == "a test"


def test_the_geometry_path_is_relative_to_the_parameter_file(tmp_path):
    from trocar.arms.parameters import load_parameters, to_toml

    own_file(tmp_path, "l_back = 0.15", "l_back = 0.151")
    file = tmp_path / "set.toml"
    file.write_text(to_toml(replace(load_parameters("PSM", "gondokaryono2019"), geometry="own.toml")))
    mechanism = tr.load_mechanism("PSM", file)
    assert model_distances(mechanism.arm)["3-6"] == pytest.approx(0.151)
    assert mechanism.parameters is not None


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("l_back = 0.15", "", "length 'l_back' is missing"),
        ("l_back = 0.15", "l_bak = 0.15", "'l_bak' is unknown. Did you mean 'l_back'"),
        ("l_back = 0.15", "l_back = inf", "'l_back' must be a finite number"),
        ("l_back = 0.15", "l_back = 0.01", "lengths of geometry .* do not form a valid PSM"),
        ('"PSM"', '"ECM"', "holds the geometry of ECM, not of PSM"),
        ('frames = "gondokaryono2019"', 'frames = "mine"', "frames 'mine' is unknown"),
        ('frames = "gondokaryono2019"', 'frames = "gondokaryono2019"\nparameters = "wang2019"', "in these frames"),
        ("[lengths]", "[lengths", "is not valid TOML"),
    ],
)
def test_an_invalid_geometry_file_is_reported(tmp_path, old, new, words):
    with pytest.raises(tr.TrocarError, match=words):
        tr.load_mechanism("PSM", own_file(tmp_path, old, new))


def test_a_missing_geometry_file_is_reported(tmp_path):
    with pytest.raises(tr.TrocarError, match=r"no.toml cannot be read: No such file"):
        tr.load_arm("PSM", tmp_path / "no.toml")


def test_the_command_writes_geometry_and_picture_and_prints_the_result(tmp_path, exact):
    file = exact[1].save(tmp_path / "markers.csv", UNITS)
    run = CliRunner().invoke(app, ["calibrate", str(file), "-o", str(tmp_path / "psm.toml")])
    assert run.exit_code == 0, run.output
    assert "3-6" in run.output
    assert "150.000" in run.output
    assert "RCM in the camera frame: 100.000 -200.000 1800.000 mm" in run.output
    assert tr.load_mechanism("PSM", tmp_path / "psm.toml").arm.geometry == "psm"
    assert (tmp_path / "psm.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no.csv"], "No such file"),
        (["no.csv", "-o", "geometry.txt"], "must be named NAME.toml, got geometry.txt"),
    ],
)
def test_the_command_reports_errors_in_one_line(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke(app, ["calibrate", *arguments])
    assert run.exit_code == 2
    assert words in run.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [({"noise": -1.0}, "noise"), ({"occlusion": 1.0}, "occlusion"), ({"bodies": ["knee"]}, "'knee' is unknown")],
)
def test_invalid_camera_options_are_rejected(options, words):
    with pytest.raises(tr.TrocarError, match=words):
        MotionCapture(tr.load_arm("PSM"), **options)


def test_occlusion_has_the_requested_share_and_comes_in_bursts():
    _, markers, _ = captured(duration=100.0, occlusion=0.2, bodies=("end",), still=("insertion",))
    hidden = ~markers.seen("end")
    assert hidden.mean() == pytest.approx(0.2, abs=0.05)
    bursts = np.count_nonzero(np.diff(hidden.astype(int)) == 1)
    assert hidden.sum() / bursts == pytest.approx(20, rel=0.35)  # 0.2 s at 100 Hz
