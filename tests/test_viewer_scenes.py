"""Scenes in the viewer: several arms, what the endoscope sees, what can be touched."""

from __future__ import annotations

import time

import mujoco
import numpy as np
import pytest

import trocar as tr
from trocar.appearance.endoscope_camera import VIEW, StereoEndoscope
from trocar.appearance.lens import Lens
from trocar.errors import TrocarError
from trocar.viewer.endoscope import SIZE, Endoscope, endoscope_of
from trocar.viewer.plant import TIMESTEP, Settings
from trocar.viewer.session import Session
from trocar.viewer.torques import composition
from trocar.viewer.touching import APART, BLOCK, PLATE


def stepped(session, seconds):
    session.step(round(seconds / TIMESTEP))
    return session.settled(timeout=60.0)


@pytest.fixture(scope="module")
def shared():
    result = Session(Settings(scene="cart_classic")).start()
    yield result
    result.close()


@pytest.fixture
def scene(shared):
    """A session of the Classic cart as it starts, PSM1 chosen."""
    shared.pause()
    shared.choose("PSM1")
    shared.drive("PID (dVRK)")
    shared.reset()
    shared.settled()
    return shared


def arm(session, name):
    return session._live.world.plants[name].sim


def test_every_arm_of_a_scene_holds_its_start_under_its_own_controller(scene):
    start = {name: arm(scene, name).q for name in scene.arms}
    assert scene.arms == {"PSM1": "instrument", "PSM2": "instrument", "PSM3": "instrument", "ECM": "endoscope"}
    frame = stepped(scene, 0.1)
    assert frame.time == pytest.approx(0.1)
    for name, q in start.items():
        np.testing.assert_allclose(arm(scene, name).q, q, atol=5e-3)


def test_targets_are_of_the_chosen_arm_and_the_others_stay(scene):
    before = {name: arm(scene, name).q for name in scene.arms}
    scene.choose("ECM")
    goal = before["ECM"] + [0.0, 0.0, 0.01, 0.2]
    scene.aim(goal)
    frame = scene.settled()
    assert frame.plant.name == "ECM"
    np.testing.assert_allclose(frame.q, goal, atol=1e-12)
    for name in ("PSM1", "PSM2", "PSM3"):
        np.testing.assert_array_equal(arm(scene, name).q, before[name])


def test_the_tip_of_a_chosen_arm_goes_where_its_target_is_in_its_own_base(scene):
    scene.choose("PSM2")
    scene.drive("impedance", {"stiffness": 800.0, "damping": 80.0})
    T = scene.settled().T_tip
    goal = T.copy()
    goal[:3, 3] += [0.0, 0.0, 0.01]
    scene.aim(goal)
    frame = stepped(scene, 0.8)
    np.testing.assert_allclose(frame.T_ref, goal, atol=1e-4)
    assert np.linalg.norm(frame.T_tip[:3, 3] - goal[:3, 3]) < 0.004  # dry friction keeps the rest


def test_a_push_acts_on_the_chosen_arm_in_the_axes_of_its_base(scene):
    scene.choose("PSM3")
    force = np.array([0.3, -0.2, 0.5])
    scene.push(force)
    frame = stepped(scene, TIMESTEP)
    data, model = arm(scene, "PSM3").data, arm(scene, "PSM3").model
    pushed = np.flatnonzero(data.xfrc_applied.any(1))
    assert [model.body(k).name for k in pushed] == [f"PSM3/{frame.plant.arm.tip_body}"]
    np.testing.assert_allclose(data.xfrc_applied[pushed[0], :3], frame.plant.T_world_base[:3, :3] @ force)
    scene.choose("PSM1")  # and ends when another is chosen
    scene.settled()
    assert not data.xfrc_applied.any()


def test_an_unknown_arm_and_a_setting_that_a_scene_has_not_are_notices(scene):
    scene.choose("PSM4")
    scene.settled()
    assert "PSM4" in scene.notices.get_nowait()
    scene.change(parameters="gondokaryono2019")
    scene.settled()
    assert "parameters" in scene.notices.get_nowait()


def test_a_recording_is_of_the_chosen_arm_and_ends_with_the_choice(scene):
    scene.choose("ECM")
    scene.record()
    stepped(scene, 0.02)
    assert scene.recorded().provenance["arm"] == "ECM"
    scene.record()
    scene.choose("PSM1")
    scene.settled()
    assert "recording ended" in scene.notices.get(timeout=120.0)
    with pytest.raises(TrocarError, match="nothing is being recorded"):
        scene.recorded()


def test_masters_and_a_scene_file_run_too(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text('[arms.A]\narm = "PSM"\n\n[arms.B]\narm = "PSM_Si"\nposition = [1.0, 0.0, 0.0]\n')
    for what, arms in (
        ("masters", {"MTML": None, "MTMR": None}),
        (str(file), {"A": "instrument", "B": "instrument"}),
    ):
        session = Session(Settings(scene=what)).start()
        try:
            assert session.arms == arms
            assert stepped(session, 0.01).time > 0
            assert endoscope_of(Settings(scene=what), session) is None
        finally:
            session.close()


def test_a_scene_is_drawn_where_the_engine_has_it(scene):
    """Poses of the page's nodes against those of the simulated model, which is another one."""
    pytest.importorskip("viser")
    from trocar.viewer.drawing import Drawing
    from trocar.viewer.server import serve

    server = serve(port=0)
    try:
        frame = stepped(scene, 0.02)
        drawing = Drawing(server.scene, "/arm", frame.plant.spec)
        drawing.update(frame.qpos)
        model, data = arm(scene, "PSM1").model, arm(scene, "PSM1").data
        mujoco.mj_kinematics(model, data)
        for body in range(1, model.nbody):
            name = model.body(body).name
            node = server.scene.get_handle_by_name(drawing.node(name))
            np.testing.assert_allclose(node.position, data.xpos[body], atol=1e-9, err_msg=name)
    finally:
        server.stop()


# -- what is changed while it runs -----------------------------------------------------------------------------------

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


@pytest.fixture(scope="module")
def cart_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("scenes") / "cart.toml"
    file.write_text(FILE.format(set_up=SET_UP, options=""))
    return file


@pytest.fixture
def cart(cart_file):
    """A session of a cart of which much will be changed."""
    result = Session(Settings(scene=str(cart_file))).start()
    yield result
    result.close()


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"friction": False}, "friction = false"),
        ({"counterweight": False}, "counterweight = false"),
        ({"instrument": "PROGRASP_FORCEPS_400093"}, 'instrument = "400093"'),
        ({"set_up": [0.05, *SET_UP[1:]]}, ""),
    ],
)
def test_a_changed_arm_moves_as_one_of_a_scene_that_was_written_so(cart, tmp_path, changes, options):
    """After the change, in the state that it was in, every arm goes where those of such a file go."""
    cart.aim(arm(cart, "PSM1").q + [0.05, 0.05, 0.005, 0.3, 0.2, 0.1, 0.0])
    before = stepped(cart, 0.02)
    q, dq = ({name: getattr(arm(cart, name), x) for name in cart.arms} for x in ("q", "dq"))
    frame = cart.changed(**changes)
    assert frame.time == pytest.approx(before.time)
    file = tmp_path / "cart.toml"
    file.write_text(FILE.format(set_up=changes.get("set_up", SET_UP), options=options))
    written = tr.load_scene(file, timestep=TIMESTEP)
    for name in cart.arms:
        np.testing.assert_allclose(arm(cart, name).q, q[name], atol=1e-12)
        written.arms[name].place(q[name], dq[name])
    np.testing.assert_allclose(frame.plant.T_world_base, written.T_world_base("PSM1"), atol=1e-12)
    # the equations belong to it too
    tau = {name: cart._live.world.plants[name].mechanism.gravity(q[name]) for name in cart.arms}
    for _ in range(20):
        cart._live.world.step(tau)
        written.step(tau)
    for name in cart.arms:
        np.testing.assert_allclose(arm(cart, name).q, written.arms[name].q, atol=1e-7, err_msg=name)
    assert np.abs(arm(cart, "PSM1").dq).max() > 1e-5  # something moves, or this would say little


def test_gravity_is_changed_for_all_arms_of_a_scene_in_the_axes_of_the_world(cart):
    cart.changed(friction=False)
    g = np.array([3.0, -2.0, -5.0])
    frame = cart.changed(gravity=tuple(g))
    np.testing.assert_allclose(frame.plant.gravity, g)
    plants = cart._live.world.plants
    for plant in plants.values():
        np.testing.assert_allclose(plant.sim.gravity_vector, plant.T_world_base[:3, :3].T @ g)
    # the engine feels what the equations say: held by them, an arm without friction does not start to move
    for _ in range(20):
        cart._live.world.step({name: plant.mechanism.gravity(plant.sim.q) for name, plant in plants.items()})
    assert np.abs(plants["PSM1"].sim.dq).max() < 1e-6
    cart.changed(set_up=[0.05, *SET_UP[1:]])  # which hangs it up anew
    np.testing.assert_allclose(cart.settled().plant.gravity, g)


def test_set_up_joints_that_make_arms_overlap_are_refused_with_their_names_and_nothing_moves(cart):
    T = cart.frame.plant.T_world_base
    with pytest.raises(TrocarError, match=r"of PSM1 overlaps .* of third by .* mm"):
        cart.changed(set_up=[SET_UP[0], SET_UP[1] - 0.2, *SET_UP[2:]])
    frame = cart.settled()
    np.testing.assert_allclose(frame.plant.T_world_base, T)
    np.testing.assert_allclose(frame.plant.q_setup, SET_UP)
    with pytest.raises(TrocarError, match="set-up"):
        cart.changed(set_up=[99.0, *SET_UP[1:]])
    cart.change(set_up=[99.0, *SET_UP[1:]])  # of one who does not wait it is a notice
    cart.settled()
    assert cart.notices.get_nowait()


def test_the_others_keep_their_controllers_and_targets_and_a_push_goes_on(cart):
    cart.choose("third")
    cart.drive("computed torque")
    start = arm(cart, "third").q
    cart.play()
    cart.aim(start + [0.02, 0, 0, 0, 0, 0, 0])
    cart.pause()
    cart.choose("PSM1")
    cart.push(np.array([0.0, 0.0, 0.2]))
    frame = cart.changed(friction=False)
    assert frame.force[2] == 0.2
    stepped(cart, TIMESTEP)
    assert arm(cart, "PSM1").data.xfrc_applied.any()
    stepped(cart, 0.7)
    assert cart._live._drivers["third"].controller == "computed torque"
    assert (arm(cart, "third").q - start)[0] == pytest.approx(0.02, abs=5e-3)  # dry friction keeps the rest


def test_a_reset_after_changes_is_to_the_start_of_the_file(cart):
    start = arm(cart, "PSM1").q
    cart.aim(start + [0.1, 0, 0, 0, 0, 0, 0])
    cart.changed(instrument="PROGRASP_FORCEPS_400093")
    cart.reset()
    frame = cart.settled()
    np.testing.assert_allclose(frame.q, start, atol=1e-9)
    assert frame.time == 0.0
    assert "PROGRASP" in frame.plant.arm.instrument


def test_a_reset_to_where_arms_would_overlap_now_is_refused_and_nothing_moves(cart):
    cart.choose("third")
    q = arm(cart, "third").q + [0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0]
    cart.aim(q)
    away = q + [0.9, 0, 0, 0, 0, 0, 0]
    cart.aim(away)  # out of the way of the other
    cart.choose("PSM1")
    moved = [SET_UP[0], SET_UP[1] - 0.2, *SET_UP[2:]]
    cart.changed(set_up=moved)
    cart.reset()
    frame = cart.settled()
    assert "overlaps" in cart.notices.get_nowait()
    np.testing.assert_allclose(arm(cart, "third").q, away)
    np.testing.assert_allclose(frame.plant.q_setup, moved)


def test_things_stay_where_they_are_when_an_arm_is_changed():
    session = Session(Settings(scene="cart_classic", touch=True)).start()
    try:
        scene = session._live.world.scene
        moved = scene.objects["block"].pose
        moved[:3, 3] += [0.01, 0.0, 0.02]
        scene.objects["block"].pose = moved
        session.changed(counterweight=False)
        after = session._live.world.scene
        assert after is not scene
        np.testing.assert_allclose(after.objects["block"].pose, moved, atol=1e-12)
    finally:
        session.close()


def test_what_looks_the_same_is_not_drawn_again_and_set_up_joints_move_what_hangs_on_them(cart):
    pytest.importorskip("viser")
    from trocar.viewer.drawing import Drawing
    from trocar.viewer.server import serve

    server = serve(port=0)
    try:
        drawing = Drawing(server.scene, "/arm", cart.frame.plant.spec)
        first = {id(handle) for _, handle in drawing._meshes}
        drawing.become(cart.changed(friction=False).plant.spec)
        assert {id(handle) for _, handle in drawing._meshes} == first
        frame = cart.changed(instrument="PERMANENT_CAUTERY_HOOK_400183")
        drawing.become(frame.plant.spec)
        now = [(drawing.model.body(mesh.body).name, id(handle)) for mesh, handle in drawing._meshes]
        fresh = {name for name, handle in now if handle not in first}
        assert fresh
        assert all(name.startswith("PSM1/") for name in fresh)
        frame = cart.changed(set_up=[0.05, *SET_UP[1:]])
        drawing.hang(frame.fixed)
        drawing.update(frame.qpos)
        model, data = arm(cart, "PSM1").model, arm(cart, "PSM1").data
        mujoco.mj_kinematics(model, data)
        for body in range(1, model.nbody):
            name = model.body(body).name
            node = server.scene.get_handle_by_name(drawing.node(name))
            np.testing.assert_allclose(node.position, data.xpos[body], atol=1e-9, err_msg=name)
        for name, T in frame.fixed.items():
            node = server.scene.get_handle_by_name(drawing.node(name))
            np.testing.assert_allclose(node.position, T[:3, 3], atol=1e-9, err_msg=name)
    finally:
        server.stop()


# -- the endoscope ---------------------------------------------------------------------------------------------------


def test_the_endoscope_shows_the_frame_and_keeps_nobody_waiting(scene):
    """Its pictures are, to the pixel, those of a scene put there by hand."""
    scene.choose("PSM1")
    scene.aim(arm(scene, "PSM1").q + [0.05, 0.05, 0.01, 0.3, 0.2, 0.1, 0.2])
    frame = scene.settled()
    told = []
    endoscope = Endoscope(Settings(scene="cart_classic"), "ECM", told.append).start()
    try:
        first = endoscope(frame)
        assert (first[0] == first[0][0, 0]).all()  # nothing is drawn yet, and it did not wait for it
        deadline = time.monotonic() + 180.0
        while endoscope(frame)[0] is first[0] and not told and time.monotonic() < deadline:
            time.sleep(0.02)
        if told:
            pytest.skip(f"nothing can be rendered here: {told[0]}")
        left, right = endoscope(frame)
    finally:
        endoscope.close()
    twin = tr.load_scene("cart_classic")
    for name in twin.arms:
        twin.arms[name].place(arm(scene, name).q)
    wanted = StereoEndoscope(twin, "ECM", Lens.of_view(VIEW, *SIZE)).pair()
    for got, want in zip((left, right), wanted, strict=True):
        assert (np.abs(got.astype(int) - want.astype(int)).max(-1) > 8).mean() < 1e-3
    assert (np.abs(left.astype(int) - right.astype(int)).max(-1) > 8).mean() > 0.05  # two eyes


def test_the_endoscope_sees_what_was_changed():
    """An instrument that set-up joints lift out of view is not seen, also by a twin that is built anew after that."""
    told = []
    endoscope = Endoscope(Settings(scene="cart_classic"), "ECM", told.append).start()
    session = Session(Settings(scene="cart_classic")).start()

    def seen(frame):
        before, _ = endoscope(frame)
        deadline = time.monotonic() + 180.0
        while (endoscope(frame)[0] is before and not told) and time.monotonic() < deadline:
            time.sleep(0.02)
        return endoscope(frame)[0].astype(int)

    try:
        first = seen(session.settled())
        if told:
            pytest.skip(f"nothing can be rendered here: {told[0]}")
        moved = seen(session.changed(set_up=[0.06, *SET_UP[1:]]))
        assert (np.abs(moved - first).max(-1) > 30).mean() > 0.01
        after = seen(session.changed(counterweight=False))  # which is not seen
        assert (np.abs(after - moved).max(-1) > 8).mean() < 1e-3
        other = seen(session.changed(set_up=SET_UP))
        assert (np.abs(other - first).max(-1) > 8).mean() < 1e-3
    finally:
        endoscope.close()
        session.close()


# -- touching --------------------------------------------------------------------------------------------------------


def test_things_lie_still_until_they_are_touched_and_a_pressed_plate_shows_its_force():
    session = Session(Settings(arm="PSM", touch=True)).start()
    try:
        sim = session.frame.plant.sim
        start = {name: thing.pose[:3, 3].copy() for name, thing in sim.objects.items()}
        stepped(session, 0.5)
        for name, where in start.items():
            np.testing.assert_allclose(sim.objects[name].pose[:3, 3], where, atol=2e-4, err_msg=name)
        session.play()
        session.aim(session.settled().q + [0, 0, 0.03, 0, 0, 0, 0])  # the plate is 20 mm below the jaws
        session.pause()
        frame = stepped(session, 1.5)
        wrench = sim.contact_wrench(of="plate")
        assert wrench[2] > 0.5
        end = frame.T_tip[:3, 3] - [0.0, 0.0, frame.plant.arm.jaw_length]
        near = np.linalg.norm(frame.contacts[:, 0] - end, axis=1) < 0.01
        # the jaws touch each other too, with a little force
        np.testing.assert_allclose(frame.contacts[near, 1].sum(axis=0), wrench[:3], atol=1e-3)
        # and the bars say what of the insertion's effort the plate takes: all of its push, for the arm hangs straight
        parts = composition(frame.plant.equations(), frame)
        assert parts["contact"][2] == pytest.approx(wrench[2], abs=1e-3)
        np.testing.assert_allclose(sum(parts.values()), frame.tau, atol=1e-12)
    finally:
        session.close()


def test_in_a_scene_the_plate_is_below_all_instruments():
    session = Session(Settings(scene="cart_classic", touch=True))
    world = session._live.world
    plate, block = (world.scene.objects[name].pose[:3, 3] for name in ("plate", "block"))
    for name in ("PSM1", "PSM2", "PSM3"):
        tip = world.scene.T_world_tip(name)[:3, 3]
        assert (np.abs(tip - plate)[:2] < PLATE[:2] / 2).all()
        assert tip[2] > plate[2] + 0.02
    np.testing.assert_allclose(block - plate, [APART, 0.0, (PLATE[2] + BLOCK) / 2])


@pytest.mark.parametrize("what", [{"arm": "MTML"}, {"scene": "masters"}])
def test_touching_needs_an_instrument(what):
    with pytest.raises(TrocarError, match="--touch needs an instrument"):
        Session(Settings(touch=True, **what))
