"""The twin of a running arm: causal filter, efforts row by row, assembly of joint states, and the page."""

import numpy as np
import pytest
from scipy.signal import butter, lsim

import trocar as tr
from tests.support.joint_state_bags import JAW_LATER, START, motion
from trocar.control.observers import EffortStream
from trocar.errors import TrocarError
from trocar.recording import filtered
from trocar.recording.filters import CausalLowpass
from trocar.recording.joint_states import JointStates
from trocar.robot.interface import Direction, Topic
from trocar.robot.messages import JointState
from trocar.robot.settings import ArmSettings
from trocar.robot.shadow import Shadow
from trocar.transports.shadow import arm_of, follow

ARMS = ("PSM", "PSM_Si", "ECM", "ECM_Si", "MTML", "MTMR")
NAMES = tr.load_arm("PSM").joint_names


def test_the_causal_filter_is_the_butterworth_filter_of_a_signal_that_is_linear_between_samples():
    generator = np.random.default_rng(1)
    t = np.concatenate([[0.0], 1e-4 * np.cumsum(generator.integers(20, 80, 300))])
    x = np.sin(9 * t) + 0.3 * np.cos(200 * t) + 0.5
    lowpass = CausalLowpass(17.0)
    ours = [lowpass.update(s, np.array([y, 2 * y])) for s, y in zip(t, x, strict=True)]
    fine = np.arange(round(t[-1] / 1e-5) + 1) * 1e-5  # every sample is one of these times
    system = butter(6, 2 * np.pi * 17.0, analog=True, output="zpk")
    _, exact, _ = lsim(system, np.interp(fine, t, x) - x[0], fine)
    rows = np.rint(t / 1e-5).astype(int)
    np.testing.assert_allclose([o.value[0] for o in ours], exact[rows] + x[0], atol=1e-8)
    rates = np.gradient(exact, fine)[rows][1:-1]
    np.testing.assert_allclose([o.rate[0] for o in ours][1:-1], rates, atol=1e-3 * np.abs(rates).max())
    np.testing.assert_allclose([o.value[1] for o in ours], [2 * o.value[0] for o in ours], rtol=1e-12)
    with pytest.raises(TrocarError, match="must increase"):
        lowpass.update(t[-1], x[:2])
    with pytest.raises(TrocarError, match="positive"):
        CausalLowpass(0.0)


@pytest.mark.parametrize("arm", ARMS)
def test_efforts_row_by_row_are_those_of_effort_along(arm):
    mechanism = tr.load_mechanism(arm)
    n, rows, generator = mechanism.n, 150, np.random.default_rng(2)
    t = np.cumsum(generator.uniform(0.003, 0.02, rows))
    wave = np.sin(np.linspace(2, 9, n) * t[:, None])
    q = np.array(mechanism.arm.home) + wave * np.where(np.array(mechanism.arm.joint_units) == "m", 0.02, 0.3)
    recording = tr.Recording(
        t=t,
        q=q,
        dq=np.gradient(q, t, axis=0),
        tau=generator.normal(size=(rows, n)),
        joints=mechanism.arm.joint_names,
        joint_units=mechanism.arm.joint_units,
    )
    smooth = filtered(recording, causal=True)
    stream = EffortStream(mechanism)
    live = [stream.update(*row) for row in zip(t, q, recording.dq, recording.tau, strict=True)]
    predicted = mechanism.effort_along(smooth)
    np.testing.assert_allclose([effort.predicted for effort in live], predicted, rtol=0, atol=1e-9)
    np.testing.assert_allclose([effort.residual for effort in live], smooth.tau - predicted, rtol=0, atol=1e-9)
    assert np.abs(predicted).max() > 1e-3


# -- joint states ------------------------------------------------------------------------------------------------------


def state(*values):
    return [list(values)] * 3


def test_the_jaw_is_interpolated_to_the_times_of_the_arm():
    states = JointStates(tr.load_arm("PSM"), jaw=True)
    assert states.add(10, NAMES[:6], *state(*range(6))) == []
    (first,) = states.add_jaw(20, *state(1.0))
    assert (first.stamp, first.q[6]) == (10, 1.0)  # there is no older one
    assert states.add(25, NAMES[:6], *state(*range(6))) == []
    (second,) = states.add_jaw(40, *state(5.0))
    assert second.q[6] == 2.0
    np.testing.assert_array_equal(second.q[:6], range(6))
    assert states.add(25, NAMES[:6], *state(*range(6))) == []  # sent twice
    assert [row.stamp for row in states.add(40, NAMES[:6], *state(*range(6)))] == [40]
    states.add(60, NAMES[:6], *state(*range(6)))
    (last,) = states.rest()
    assert last.q[6] == 5.0


def test_an_arm_whose_jaw_falls_silent_continues_with_its_last_state():
    states = JointStates(tr.load_arm("PSM"), jaw=True)
    states.add_jaw(1, *state(0.3))
    rows = [row for k in range(20) for row in states.add(10**8 * k + 2, NAMES[:6], *state(*range(6)))]
    assert len(rows) == 20
    assert {row.q[6] for row in rows} == {0.3}


def test_joints_are_matched_by_name_and_by_position():
    states = JointStates(tr.load_arm("MTMR"), jaw=False)
    names = tuple(reversed(tr.load_arm("MTMR").joint_names))
    (row,) = states.add(1, names, *state(*range(7)))
    np.testing.assert_array_equal(row.q, range(6, -1, -1))
    (row,) = states.add(2, (), *state(*range(7)))
    np.testing.assert_array_equal(row.q, range(7))
    (row,) = states.add(3, tuple("abcdefg"), *state(*range(7)))
    np.testing.assert_array_equal(row.q, range(7))
    with pytest.raises(TrocarError, match="3 unnamed ones"):
        states.add(4, (), *state(1, 2, 3))


def test_another_arm_with_as_many_joints_is_refused():
    psm, master = tr.load_arm("PSM"), tr.load_arm("MTML")
    with pytest.raises(TrocarError, match=r"have the joints outer_yaw, shoulder_pitch.*; the arm has yaw, pitch"):
        JointStates(psm, jaw=False).add(1, master.joint_names, *state(*range(7)))
    with pytest.raises(TrocarError, match=r"have the joints yaw, pitch.*; the arm has outer_yaw, shoulder_pitch"):
        JointStates(master, jaw=False).add(1, psm.joint_names, *state(*range(7)))
    apart = JointStates(psm, jaw=True)  # without names, the jaw is still the last joint
    apart.add_jaw(1, *state(0.5))
    (row,) = apart.add(1, (), *state(*range(6)))
    np.testing.assert_array_equal(row.q, [0, 1, 2, 3, 4, 5, 0.5])


# -- the twin ----------------------------------------------------------------------------------------------------------


class Source:
    """The part of a robot in ROS that a twin uses."""

    def __init__(self, *names, direction=Direction.state):
        self.topics = {name: Topic(name, JointState, direction, "sensor_msgs/JointState") for name in names}
        self.callbacks = {}

    def subscribe(self, name, callback):
        self.callbacks[name] = callback

    def send(self, name, stamp, joints, *values):
        position, velocity, effort = values
        self.callbacks[name](JointState(stamp=stamp, name=joints, position=position, velocity=velocity, effort=effort))


def play(source, stamps, q, dq, tau):
    for stamp, *row in zip(stamps.tolist(), q, dq, tau, strict=True):
        source.send("PSM1/measured_js", stamp, NAMES[:6], *(x[:6] for x in row))
        source.send("PSM1/jaw/measured_js", stamp + JAW_LATER, ("jaw",), *(x[6:] for x in row))


@pytest.fixture(scope="module")
def source():
    return Source("PSM1/measured_js", "PSM1/jaw/measured_js")


@pytest.fixture(scope="module")
def shadow(source):
    shadow = Shadow(ArmSettings(arm="PSM"), "PSM1/measured_js")
    follow(shadow, source, "PSM1")
    return shadow


def test_a_twin_keeps_the_received_rows_with_their_predictions(shadow, source):
    assert shadow.silent == np.inf
    with pytest.raises(TrocarError, match="nothing was received from PSM1/measured_js"):
        shadow.recording()
    moved = motion(100)
    play(source, *moved)
    found = shadow.recording()
    np.testing.assert_allclose(found.t, 1e-9 * (moved[0] - moved[0][0]), atol=1e-12)
    np.testing.assert_array_equal(found.q[:, :6], moved[1][:, :6])
    assert found.extra["residual_tau"].shape == (100, 7)
    frame = shadow.frame()
    np.testing.assert_array_equal(frame.arms["PSM"].q, found.q[-1])
    recent = shadow.efforts(0.1)
    assert 15 < len(recent.t) < 25
    np.testing.assert_array_equal((recent.measured - recent.predicted)[-1], found.extra["residual_tau"][-1])
    assert len(shadow.efforts(10.0, count=30).t) <= 30


def test_messages_without_content_are_reported_once_and_ignored(shadow, source):
    before, read = len(shadow), len(shadow.messages)
    for k in range(3):
        source.send("PSM1/measured_js", START + 10**10 + k, NAMES[:6], np.zeros(6), np.zeros(6), np.zeros(0))
    source.send("PSM1/measured_js", 0, NAMES[:6], *np.zeros((3, 6)))
    source.send("PSM1/measured_js", START + 10**10 + 9, NAMES[:6], *np.full((3, 6), np.nan))
    assert len(shadow) == before
    texts = shadow.messages[read:]
    assert len(texts) == 2
    assert "lacks the position, velocity or effort" in texts[0]
    assert "not finite" in texts[1]


def test_a_clock_that_goes_back_starts_a_new_recording(shadow, source):
    stamps, *moved = motion(20)
    play(source, stamps - 10**11, *moved)
    assert len(shadow) == 20
    assert "went back" in shadow.messages[-1]


def test_arms_are_recognised_by_their_topics_and_a_missing_arm_is_an_error(shadow):
    assert arm_of(Source("MTML/gripper/measured_js"), "MTML") == "MTML"
    assert arm_of(Source("ECM/measured_js"), "ECM") == "ECM"
    assert arm_of(Source("lab/left/jaw/measured_js"), "lab/left") == "PSM"
    with pytest.raises(TrocarError, match="name the arm: PSM"):
        arm_of(Source("left/measured_js"), "left")
    with pytest.raises(TrocarError, match="arms found: PSM2"):
        follow(shadow, Source("PSM2/measured_js", "PSM2/jaw/measured_js"), "PSM1")
    with pytest.raises(TrocarError, match="jaw/measured_js, which a PSM needs"):
        follow(shadow, Source("PSM1/measured_js"), "PSM1")
    with pytest.raises(TrocarError, match="arms found: none"):
        follow(shadow, Source("PSM1/measured_js", direction=Direction.command), "PSM1")


def test_the_page_shows_the_measured_arm_and_the_residual_and_cannot_send_commands(shadow, source):
    pytest.importorskip("viser")
    from trocar.view.pages import shadow_page
    from trocar.view.panels.shadow import ShadowCurvePanel, ShadowStatePanel
    from trocar.view.server import serve

    class Browser:
        def send_file_download(self, name, content, save_immediately):
            self.file = name, content

    play(source, *motion(60, seed=3))
    server = serve(port=0)
    try:
        page = shadow_page(server, shadow, "PSM1")
        state, curves = page.panel(ShadowStatePanel), page.panel(ShadowCurvePanel)
        curves.joint.value = "pitch"
        page.draw()
        found = shadow.recording()
        np.testing.assert_allclose(page.drawing.data.qpos[: shadow.arm.E.shape[0]], shadow.arm.E @ found.q[-1])
        np.testing.assert_allclose(curves.residual.data[1][-1], found.extra["residual_tau"][-1, 1])
        np.testing.assert_allclose(curves.effort.data[2][-1], found.extra["predicted_tau"][-1, 1])
        assert f"**{found.extra['residual_tau'][-1, 1]:.3f}**" in state.table.content
        assert "read only" in state.status.content
        labels = [handle.label for handle in server.gui._gui_input_handle_from_uuid.values()]
        assert labels == ["Bring the view home", "Save recording .npz", "Save recording .csv", "Joint"]
        state.send(browser := Browser(), ".npz")
        assert browser.file[0] == "PSM1.npz"
    finally:
        server.stop()
