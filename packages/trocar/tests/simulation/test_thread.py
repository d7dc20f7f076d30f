"""A suture thread: tension, stability, strength, and slip between the jaws."""

import mujoco
import numpy as np
import pytest

import trocar as tr
from trocar.control import Setpoint, State
from trocar.errors import TrocarError
from trocar.simulation import Scene, SceneArm, SceneObject, Thread, needle
from trocar.simulation.manipulation import GripControl
from trocar.simulation.objects.thread import armature
from trocar.spatial import pose, quaternion

AWAY = pose(p=[0.3, 0.0, 0.0])


def pulled_scene(**options):
    """A needle with its thread in weightlessness, away from the arm."""
    things = [needle("needle", AWAY, size="SH"), Thread("thread", "needle", **options)]
    arm = SceneArm(arm="PSM", base=np.eye(4), friction=False, counterweight=False)
    return Scene({"PSM": arm}, objects=things, gravity=[0.0, 0.0, 0.0])


def pull(scene, force, seconds):
    """Pull the needle's tail and the thread's end apart by a force [N]; the tail is at -y, and the thread along -x."""
    data, thread, thing = scene.data, scene.objects["thread"], scene.objects["needle"]
    tail = thing.thing.at(thing.thing.length)[0]
    for _ in range(round(seconds / scene.timestep)):
        ends = thread.points
        outward = (ends[-1] - ends[0]) / np.linalg.norm(ends[-1] - ends[0])
        lever = (thing.pose @ [*tail, 1.0])[:3] - data.xipos[thing.body]
        data.xfrc_applied[thing.body] = [*(-force * outward), *np.cross(lever, -force * outward)]
        lever = ends[-1] - data.xipos[thread.rods[-1]]
        data.xfrc_applied[thread.rods[-1]] = [*(force * outward), *np.cross(lever, force * outward)]
        scene.step({"PSM": np.zeros(7)})
        if not thread.attached:
            data.xfrc_applied[:] = 0.0
            break


def test_the_tension_of_a_pulled_thread_is_the_pull_along_its_whole_length():
    scene = pulled_scene()
    pull(scene, 3.0, 1.0)
    thread = scene.objects["thread"]
    assert thread.attached
    assert thread.tension == pytest.approx(3.0, rel=0.01)
    np.testing.assert_allclose(thread.tensions, 3.0, rtol=0.01)
    ends = thread.points
    assert np.linalg.norm(ends[-1] - ends[0]) == pytest.approx(0.14, rel=1e-3)
    assert scene.unconverged == 0


def test_a_thread_comes_off_its_needle_at_its_strength():
    scene = pulled_scene(strength=2.0)
    pull(scene, 1.9, 0.3)
    assert scene.objects["thread"].attached
    snapshot = scene.snapshot()
    pull(scene, 2.1, 0.1)
    thread = scene.objects["thread"]
    assert not thread.attached
    assert thread.tension == 0.0
    scene.objects["needle"].pose = pose(p=[0.3, 0.1, 0.0])
    scene.data.xfrc_applied[thread.rods[-1], 0] = -1e-3
    for _ in range(200):
        scene.step({"PSM": np.zeros(7)})
    tail = (scene.objects["needle"].pose @ [0.0, -26e-3 / np.pi, 0.0, 1.0])[:3]
    assert np.linalg.norm(thread.points[0] - tail) > 1e-3
    changed = scene.changed()
    assert not changed.objects["thread"].attached
    scene.restore(snapshot)
    assert scene.objects["thread"].attached
    scene.reset()
    assert scene.objects["thread"].attached


def test_the_armature_makes_the_tensioned_chain_stable_and_grows_with_the_tension():
    values = [armature(24, 5.8e-3, 3.3e-5, tension, 1e-3) for tension in (1.0, 3.0, 10.0)]
    assert values == sorted(values)
    assert values[1] == pytest.approx(1.4e-7, rel=0.1)


def test_a_thread_needs_its_needle():
    arm = {"PSM": SceneArm(arm="PSM", base=np.eye(4))}
    with pytest.raises(TrocarError, match="needs the needle 'needle' before it"):
        Scene(arm, objects=[Thread("thread", "needle"), needle("needle", AWAY)])
    with pytest.raises(TrocarError, match="strength"):
        Thread("thread", "needle", strength=0.0)


class Clamp(SceneObject):
    """Fixes the needle in the world."""

    name = "clamp"

    def __init__(self, T):
        self.pose = T

    def add_to(self, spec):
        spec.worldbody.add_body(name="object/clamp", pos=self.pose[:3, 3], quat=quaternion(self.pose[:3, :3]))
        spec.add_equality(
            name="object/clamp",
            type=mujoco.mjtEq.mjEQ_WELD,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            name1="object/needle",
            name2="object/clamp",
            solref=(0.002, 1.0),
            solimp=(0.9999, 0.9999, 1e-4, 0.5, 2.0),
            data=[0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0],
        )


def test_a_thread_slips_between_the_jaws_at_twice_the_friction_of_their_force():
    reach, effort, friction = 6e-3, 0.04, 0.3
    psm = tr.load_mechanism("PSM")
    q = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.15])
    T = psm.forward_kinematics(q)
    # the thread runs along -x of the tip between the jaws; the needle's tail is 60 mm away
    x, z = T[:3, 0], T[:3, 1]
    R = np.stack([x, np.cross(z, x), z], axis=1)
    curved = needle("needle", np.eye(4), size="SH")
    T_needle = pose(R, (T @ [0.06, 0.0, reach, 1.0])[:3] - R @ curved.at(curved.length)[0])
    things = [needle("needle", T_needle, size="SH"), Thread("thread", "needle", friction=friction), Clamp(T_needle)]
    arm = {"PSM": SceneArm(arm="PSM", base=np.eye(4), q=q)}
    scene = Scene(arm, objects=things, overlaps=True)
    law, tensions, target = GripControl(psm, effort, 6400.0, 160.0), [], q

    def hold(seconds):
        for _ in range(round(seconds / scene.timestep)):
            state = State(scene.time, scene.arms["PSM"].q, scene.arms["PSM"].dq)
            scene.step({"PSM": law(state, Setpoint(target, np.zeros(7), np.zeros(7)))})

    hold(0.3)
    for k in range(30):
        away = T.copy()
        away[:3, 3] -= x * 1e-4 * (k + 1)
        target = psm.inverse_kinematics(away, q_seed=target)
        hold(0.03)
        tensions.append(scene.objects["thread"].tension)
    assert tensions[-1] == pytest.approx(2 * friction * effort / reach, rel=0.15)
    assert max(tensions) == pytest.approx(2 * friction * effort / reach, rel=0.15)
    assert scene.unconverged == 0
