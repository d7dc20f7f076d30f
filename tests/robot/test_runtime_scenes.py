"""Several arms in the runtime: commands to one of them, changes while it runs, objects to touch."""

from __future__ import annotations

import numpy as np
import pytest

import trocar as tr
from trocar.errors import TrocarError
from trocar.runtime import TIMESTEP, Session, Settings
from trocar.simulation.objects.practice import APART, BLOCK, PLATE, practice_objects

PATIENCE = 120.0  # [s]


def stepped(session, seconds):
    session.step(round(seconds / TIMESTEP)).result(PATIENCE)
    return session.settled()


def changed(session, arm=None, **changes):
    session.change(arm, **changes).result(PATIENCE)
    return session.settled()


def positions(session):
    return {name: arm.q for name, arm in session.settled().arms.items()}


def pushed(session):
    """Names of the bodies with external forces, and these forces (3,) in the world."""

    def question(live):
        model, applied = live.scene.model, live.scene.data.xfrc_applied
        return {model.body(k).name: applied[k, :3].copy() for k in np.flatnonzero(applied.any(1))}

    return session.ask(question)


@pytest.fixture(scope="module")
def shared():
    with Session(Settings(scene="cart_classic")) as result:
        yield result


@pytest.fixture
def scene(shared):
    """A session of the Classic cart as it starts."""
    shared.pause()
    for name in shared.arms:
        shared.drive("PID (dVRK)", arm=name)
    shared.reset()
    shared.settled()
    return shared


def test_every_arm_of_a_scene_holds_its_start_under_its_own_controller(scene):
    start = positions(scene)
    assert scene.arms == ("PSM1", "PSM2", "PSM3", "ECM")
    assert [name for name, about in scene.frame.scene.arms.items() if about.arm.carries == "endoscope"] == ["ECM"]
    frame = stepped(scene, 0.1)
    assert frame.time == pytest.approx(0.1)
    for name, q in start.items():
        np.testing.assert_allclose(frame.arms[name].q, q, atol=5e-3)


def test_a_command_moves_one_arm_and_the_others_stay(scene):
    before = positions(scene)
    goal = before["ECM"] + [0.0, 0.0, 0.01, 0.2]
    scene.place(goal, "ECM")
    after = positions(scene)
    np.testing.assert_allclose(after["ECM"], goal, atol=1e-12)
    for name in ("PSM1", "PSM2", "PSM3"):
        np.testing.assert_array_equal(after[name], before[name])


def test_among_several_arms_a_command_must_name_one(scene):
    with pytest.raises(TrocarError, match="arm must name one of PSM1, PSM2, PSM3, ECM"):
        scene.move_joints(np.zeros(7))
    with pytest.raises(TrocarError, match="Did you mean"):
        scene.move_joints(np.zeros(7), "PSM4")
    with pytest.raises(TrocarError, match=r"q must have shape \(4,\), got \(7,\)"):
        scene.move_joints(np.zeros(7), "ECM")


def test_the_tip_of_an_arm_goes_to_its_target_in_its_own_base(scene):
    scene.drive("impedance", {"stiffness": 800.0, "damping": 80.0}, "PSM2")
    goal = scene.settled().arms["PSM2"].T_tip.copy()
    goal[:3, 3] += [0.0, 0.0, 0.01]
    scene.move_tip(goal, "PSM2")
    state = stepped(scene, 0.8).arms["PSM2"]
    np.testing.assert_allclose(state.T_ref, goal, atol=1e-4)
    assert np.linalg.norm(state.T_tip[:3, 3] - goal[:3, 3]) < 0.004  # the rest is held by Coulomb friction


def test_a_push_acts_on_one_arm_in_the_axes_of_its_base(scene):
    force = np.array([0.3, -0.2, 0.5])
    scene.push(force, "PSM3")
    frame = stepped(scene, TIMESTEP)
    about = frame.scene.arms["PSM3"]
    ((body, found),) = pushed(scene).items()
    assert body == f"PSM3/{about.arm.tip_body}"
    np.testing.assert_allclose(found, about.T_world_base[:3, :3] @ force)
    assert not frame.arms["PSM1"].force.any()
    scene.push(np.zeros(3), "PSM3")
    assert pushed(scene) == {}


def test_arms_are_recorded_one_by_one(scene):
    scene.record("ECM")
    scene.record("PSM1")
    stepped(scene, 0.02)
    assert scene.recorded("ECM").provenance["arm"] == "ECM"
    assert scene.recording == ("PSM1",)
    assert scene.recorded("PSM1").q.shape[1] == 7


def test_masters_and_a_scene_file_also_run(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text('[arms.A]\narm = "PSM"\n\n[arms.B]\narm = "PSM_Si"\nposition = [1.0, 0.0, 0.0]\n')
    for what, arms in (("masters", ("MTML", "MTMR")), (str(file), ("A", "B"))):
        with Session(Settings(scene=what)) as session:
            assert session.arms == arms
            assert stepped(session, 0.01).time > 0


# -- changes while it runs -------------------------------------------------------------------------------------------

# Two arms on a cart.
FILE = """
cart = "Classic"
[set_up]
PSM1 = {set_up}
PSM3 = [-0.013, -1.589, 1.294, 0.847, 0.304, 0.520]
[arms.PSM1]
mount = "PSM1"
q = [-0.089, -0.078, 0.176, 0.0, 0.0, 0.0, 0.5]
{options}
[arms.third]
mount = "PSM3"
q = [-0.014, -0.017, 0.142, 0.0, 0.0, 0.0, 0.5]
"""
SET_UP = [0.007, -0.588, -0.757, -0.737, -0.309, -0.687]
OVERLAPPING = [SET_UP[0], SET_UP[1] - 0.2, *SET_UP[2:]]


@pytest.fixture(scope="module")
def cart_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("scenes") / "cart.toml"
    file.write_text(FILE.format(set_up=SET_UP, options=""))
    return file


@pytest.fixture
def cart(cart_file):
    """A session of a cart for tests that change it."""
    with Session(Settings(scene=str(cart_file))) as result:
        yield result


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"friction": False}, "friction = false"),
        ({"counterweight": False}, "counterweight = false"),
        ({"instrument": "PROGRASP_FORCEPS_400093"}, 'instrument = "400093"'),
        ({"set_up": [0.05, *SET_UP[1:]]}, ""),
    ],
)
def test_a_changed_arm_moves_like_one_of_a_scene_file_with_these_options(cart, tmp_path, changes, options):
    """After the change every arm moves like in a scene loaded from such a file, from the same state."""
    cart.place(positions(cart)["PSM1"] + [0.05, 0.05, 0.005, 0.3, 0.2, 0.1, 0.0], "PSM1")
    before = stepped(cart, 0.02)
    frame = changed(cart, "PSM1", **changes)
    assert frame.time == pytest.approx(before.time)
    file = tmp_path / "cart.toml"
    file.write_text(FILE.format(set_up=changes.get("set_up", SET_UP), options=options))
    written = tr.load_scene(file, timestep=TIMESTEP)
    for name, state in before.arms.items():
        np.testing.assert_allclose(frame.arms[name].q, state.q, atol=1e-12)
        written.arms[name].place(state.q, state.dq)
    np.testing.assert_allclose(frame.scene.arms["PSM1"].T_world_base, written.T_world_base("PSM1"), atol=1e-12)

    def twenty_steps(live):
        # the equations belong to the changed arms too
        tau = {name: live.scene.arms[name].mechanism.gravity(state.q) for name, state in before.arms.items()}
        for _ in range(20):
            live.scene.step(tau)
            written.step(tau)
        return {name: (arm.q, arm.dq) for name, arm in live.scene.arms.items()}

    found = cart.ask(twenty_steps)
    for name, (q, _) in found.items():
        np.testing.assert_allclose(q, written.arms[name].q, atol=1e-7, err_msg=name)
    assert np.abs(found["PSM1"][1]).max() > 1e-5  # something moves, so the test is meaningful


def test_gravity_is_changed_for_all_arms_of_a_scene_in_the_axes_of_the_world(cart):
    changed(cart, "PSM1", friction=False)
    g = np.array([3.0, -2.0, -5.0])
    for about in changed(cart, "PSM1", gravity=g).scene.arms.values():
        np.testing.assert_allclose(about.world_gravity, g)

    def held(live):
        """The engine and the equations agree: held by them, an arm without friction does not start to move."""
        for _ in range(20):
            live.scene.step({name: arm.mechanism.gravity(arm.q) for name, arm in live.scene.arms.items()})
        return live.scene.arms["PSM1"].dq

    assert np.abs(cart.ask(held)).max() < 1e-6
    frame = changed(cart, "PSM1", set_up=[0.05, *SET_UP[1:]])  # which turns its base
    np.testing.assert_allclose(frame.scene.arms["PSM1"].world_gravity, g)


def test_set_up_joints_that_make_arms_overlap_are_refused_with_their_names_and_nothing_moves(cart):
    before = cart.frame.scene.arms["PSM1"]
    for set_up, message in ((OVERLAPPING, r"of PSM1 overlaps .* of third by .* mm"), ([99.0, *SET_UP[1:]], "set-up")):
        with pytest.raises(TrocarError, match=message):
            changed(cart, "PSM1", set_up=set_up)
    after = cart.settled().scene.arms["PSM1"]
    np.testing.assert_allclose(after.T_world_base, before.T_world_base)
    np.testing.assert_allclose(after.q_setup, SET_UP)
    assert len(cart.messages.since(0)) == 2  # the user also gets a message


def test_the_others_keep_their_controllers_and_targets_and_a_push_continues(cart):
    cart.drive("computed torque", arm="third")
    start = positions(cart)["third"]
    cart.move_joints(start + [0.02, 0, 0, 0, 0, 0, 0], "third")
    cart.push(np.array([0.0, 0.0, 0.2]), "PSM1")
    frame = changed(cart, "PSM1", friction=False)
    assert frame.arms["PSM1"].force[2] == 0.2
    stepped(cart, TIMESTEP)
    assert len(pushed(cart)) == 1
    third = stepped(cart, 0.7).arms["third"]
    assert third.control.controller == "computed torque"
    assert (third.q - start)[0] == pytest.approx(0.02, abs=5e-3)  # the rest is held by Coulomb friction


def test_a_change_ends_recordings_and_reports_it(cart):
    cart.record("third")
    stepped(cart, 0.01)
    changed(cart, "PSM1", friction=False)
    assert [message.text for message in cart.messages.since(0)] == [
        "recording of third ended: the simulation was changed"
    ]
    assert cart.recording == ()


def test_a_reset_after_changes_returns_to_the_start_of_the_file(cart):
    start = positions(cart)["PSM1"]
    cart.place(start + [0.1, 0, 0, 0, 0, 0, 0], "PSM1")
    changed(cart, "PSM1", instrument="PROGRASP_FORCEPS_400093")
    cart.reset()
    frame = cart.settled()
    np.testing.assert_allclose(frame.arms["PSM1"].q, start, atol=1e-9)
    assert frame.time == 0.0
    assert "PROGRASP" in frame.scene.arms["PSM1"].arm.instrument


def test_a_reset_to_positions_that_now_overlap_is_refused_and_nothing_moves(cart):
    away = positions(cart)["third"] + [0.9, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0]
    cart.place(away, "third")  # out of the way of the other
    changed(cart, "PSM1", set_up=OVERLAPPING)
    with pytest.raises(TrocarError, match="overlaps"):
        cart.reset().result(PATIENCE)
    frame = cart.settled()
    np.testing.assert_allclose(frame.arms["third"].q, away)
    np.testing.assert_allclose(frame.scene.arms["PSM1"].q_setup, OVERLAPPING)


# -- objects to touch ------------------------------------------------------------------------------------------------


def objects(session):
    return session.ask(lambda live: {name: placed.pose.copy() for name, placed in live.scene.objects.items()})


def test_objects_keep_their_poses_when_an_arm_is_changed():
    with Session(Settings(scene="cart_classic", objects=practice_objects)) as session:
        moved = objects(session)["block"]
        moved[:3, 3] += [0.01, 0.0, 0.02]
        session.ask(lambda live: setattr(live.scene.objects["block"], "pose", moved))
        before = session.settled().scene
        assert changed(session, "PSM1", counterweight=False).scene.spec is not before.spec
        np.testing.assert_allclose(objects(session)["block"], moved, atol=1e-12)


def test_objects_lie_still_until_they_are_touched_and_a_pressed_plate_shows_its_force():
    with Session(Settings(arm="PSM", objects=practice_objects)) as session:
        start = objects(session)
        stepped(session, 0.5)
        for name, T in objects(session).items():
            np.testing.assert_allclose(T[:3, 3], start[name][:3, 3], atol=2e-4, err_msg=name)
        (q,) = positions(session).values()
        session.move_joints(q + [0, 0, 0.03, 0, 0, 0, 0])  # the plate is 20 mm below the jaws
        frame = stepped(session, 1.5)
        wrench = session.ask(lambda live: live.scene.arms["PSM"].contact_wrench(of="plate"))
        assert wrench[2] > 0.5
        state = frame.arms["PSM"]
        end = state.T_tip[:3, 3] - [0.0, 0.0, frame.scene.arms["PSM"].arm.jaw_length]
        near = np.linalg.norm(frame.contacts[:, 0] - end, axis=1) < 0.01
        # the jaws touch each other too, with a little force
        np.testing.assert_allclose(frame.contacts[near, 1].sum(axis=0), wrench[:3], atol=1e-3)
        # the insertion carries the whole push, because the arm hangs straight
        assert state.contact_effort[2] == pytest.approx(-wrench[2], abs=1e-3)


def test_in_a_scene_the_plate_is_below_all_instruments():
    scene = Settings(scene="cart_classic", objects=practice_objects).build()
    plate, block = (scene.objects[name].pose[:3, 3] for name in ("plate", "block"))
    for name in ("PSM1", "PSM2", "PSM3"):
        tip = scene.T_world_tip(name)[:3, 3]
        assert (np.abs(tip - plate)[:2] < PLATE[:2] / 2).all()
        assert tip[2] > plate[2] + 0.02
    np.testing.assert_allclose(block - plate, [APART, 0.0, (PLATE[2] + BLOCK) / 2])


@pytest.mark.parametrize("what", [{"arm": "MTML"}, {"arm": "ECM"}, {"scene": "masters"}])
def test_touch_requires_an_instrument(what):
    with pytest.raises(TrocarError, match="require an instrument"):
        Session(Settings(objects=practice_objects, **what))
