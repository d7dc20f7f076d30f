"""A needle driven through tissue by a PSM that holds it by friction: forces, events, copies."""

import pickle

import numpy as np
import pytest

import trocar as tr
from trocar.errors import TrocarError
from trocar.simulation import Piercing, Scene, SceneArm, Tissue, needle
from trocar.simulation.skills import Hands, bite, suture_scene

pytestmark = pytest.mark.xdist_group("suturing")  # one worker: fixtures are built once
ARM, EFFORT = "PSM1", 0.12
TIP = ("touch", "cut", "leaving")
LAW = Piercing()


class Run:
    """A bite, with the forces of every step and snapshots on the way."""

    def __init__(self):
        self.scene = suture_scene()
        self.hands = Hands(self.scene)
        self.tissue, self.arm = self.scene.objects["tissue"], self.scene.arms[ARM]
        self.hands.close(ARM, EFFORT, 0.3)
        self.cut, self.drag, self.imbalance = [], [], []
        self.efforts, self.copies, self.later = [], [], []
        engine = self.scene.engine
        self._advance, engine.advance = engine.advance, self.advance
        self.result = bite(self.hands, ARM, angle=np.radians(165.0), rate=np.radians(80.0))
        del engine.advance

    def advance(self):
        """A step of the scene, with what the tests need."""
        if self.inside and not self.copies:
            self.copies = [self.scene.snapshot(), pickle.dumps(self.scene), self.scene.changed()]
        if self.copies and len(self.efforts) < 200:
            self.efforts.append(self.scene.data.ctrl.copy())
        self._advance()
        if len(self.efforts) == 200 and not self.later:
            data = self.scene.data
            self.later = [data.qpos.copy(), data.qvel.copy(), data.time, self.tissue.events, self.scene.engine.counts]
        points = self.tissue.forces
        behind = [point for point in points if point.kind not in TIP]
        if behind and points[0].kind == "cut":
            self.cut.append(-points[0].along)
            self.drag.append(-sum(point.along for point in behind) / max(point.s for point in behind))
        if points:
            jaws = self.scene.T_world_base(ARM)[:3, :3] @ self.arm.contact_wrench(of="needle")[:3]
            self.imbalance.append(np.linalg.norm(self.tissue.force - jaws))

    @property
    def inside(self):
        """The needle is in the tissue with two points behind its own."""
        return len(self.tissue.forces) == 3


@pytest.fixture(scope="module")
def run():
    return Run()


def test_a_bite_touches_punctures_enters_and_exits(run):
    assert [event.what for event in run.result.events] == ["touch", "puncture", "entry", "exit"]
    assert run.result.held
    assert run.result.unconverged == 0
    assert 0.5 < run.result.mean < 1.5
    entry, out = (np.array(event.X) for event in run.result.events if event.what in ("entry", "exit"))
    assert 8e-3 < np.linalg.norm(out - entry) < 16e-3
    assert entry[2] == pytest.approx(7.5e-3, abs=1e-4)


def test_the_forces_of_a_bite_are_those_of_the_tissue(run):
    forces = {event.what: event.force for event in run.result.events}
    assert forces["puncture"] == pytest.approx(LAW.puncture, rel=0.02)
    np.testing.assert_allclose(run.cut, LAW.cut, rtol=0.02)
    np.testing.assert_allclose(run.drag[2:], LAW.drag, rtol=0.02)  # a new point acts from the second step on
    assert LAW.exit <= forces["exit"] < 1.1 * LAW.exit


def test_the_jaws_carry_the_force_of_the_tissue_on_the_needle(run):
    assert np.median(run.imbalance) < 0.005  # of about 0.7 N


def test_restored_pickled_and_changed_scenes_continue_a_bite_with_the_same_bits(run):
    snapshot, pickled, changed = run.copies
    new = suture_scene()
    new.restore(snapshot)
    for subject in (new, pickle.loads(pickled), changed):
        tissue = subject.objects["tissue"]
        assert len(tissue.forces) == 3
        for effort in run.efforts:
            subject.data.ctrl[:] = effort
            subject.advance()
        qpos, qvel, time, events, counts = run.later
        np.testing.assert_array_equal(subject.data.qpos, qpos)
        np.testing.assert_array_equal(subject.data.qvel, qvel)
        assert (subject.data.time, tissue.events, subject.engine.counts) == (time, events, counts)


def test_a_needle_enters_soft_tissue_that_recoils_and_is_withdrawn_the_way_it_came():
    law = Piercing(puncture=1.07, cut=0.52, exit=0.78, drag=18.6)
    scene = suture_scene(young=21.6e3, height=5.3e-3, grip_angle=-1.1075, friction=0.65, piercing=law)
    hands, thing = Hands(scene), scene.objects["needle"]
    hands.close(ARM, EFFORT, 0.3)
    result = bite(hands, ARM, angle=np.radians(110.0), rate=np.radians(80.0))
    assert [event.what for event in result.events] == ["touch", "puncture", "entry"]
    hands.turn(ARM, thing.pose[:3, 3], thing.pose[:3, 2], np.radians(-60.0), 0.8)
    assert scene.objects["tissue"].forces == []
    assert "withdrawn" in [event.what for event in scene.objects["tissue"].events]
    assert hands.held(ARM) == "needle"


def test_a_scene_that_is_reset_during_a_bite_repeats_a_new_one_with_the_same_bits(run):
    scene = pickle.loads(run.copies[1])
    scene.reset()
    tissue = scene.objects["tissue"]
    assert tissue.forces == []
    assert tissue.events == []
    assert not tissue.force.any()
    fresh = suture_scene()
    for _ in range(40):
        scene.step({ARM: np.zeros(7)})
        fresh.step({ARM: np.zeros(7)})
    assert tissue.events == []
    np.testing.assert_array_equal(scene.data.qpos, fresh.data.qpos)
    assert scene.data.time == fresh.data.time


def test_a_needle_must_be_in_the_scene_and_before_the_tissue():
    arm = {"PSM": SceneArm(arm="PSM", base=np.eye(4))}
    block = Tissue("block", (0.02, 0.02, 0.01), piercing=Piercing("needle"))
    thing = needle("needle", np.eye(4))
    with pytest.raises(TrocarError, match="needle"):
        Scene(arm, objects=[block], accuracy="discrete", overlaps=True)
    with pytest.raises(TrocarError, match="before block"):
        Scene(arm, objects=[block, thing], accuracy="discrete", overlaps=True)
    with pytest.raises(TrocarError, match="exit must be at least cut"):
        Piercing(cut=1.0, exit=0.5)


FILE = """
accuracy = "discrete"
[arms.PSM1]
arm = "PSM"
position = [0.0, 0.0, 0.0]
[[objects]]
name = "needle"
shape = "needle"
size = "SH"
position = [0.3, 0.0, 0.05]
[[objects]]
name = "thread"
shape = "thread"
needle = "needle"
length = 0.06
segments = 10
[[objects]]
name = "tissue"
shape = "tissue"
size = [0.03, 0.02, 0.01]
position = [0.3, 0.0, 0.0]
cells = [3, 1, 1]
fixed = ["-z", "-x"]
young = 2e4
needle = "needle"
puncture = 0.5
"""


def test_a_scene_file_with_needle_thread_and_tissue_runs_in_the_live_robot(tmp_path):
    path = tmp_path / "stitch.toml"
    path.write_text(FILE)
    scene = tr.load_scene(path, timestep=1 / 1500)
    tissue, thread = scene.objects["tissue"], scene.objects["thread"]
    assert tissue.thing.fixed == ("-z", "-x")
    assert tissue.thing.piercing == Piercing("needle", puncture=0.5)
    assert thread.thing.segments == 10
    robot = tr.Robot(scene, speed="stepped")
    robot.step(10)
    assert thread.tension > 0.0  # needle and thread fall together


@pytest.mark.parametrize(
    ("text", "wrong", "message"),
    [
        ("cells = [3, 1, 1]", "cells = [3, 1.5, 1]", "cells of tissue"),
        ('fixed = ["-z", "-x"]', 'fixed = ["up"]', "fixed"),
        ("puncture = 0.5", "puncture = -0.5", "puncture"),
        ("segments = 10", "segments = 1", "segments of thread"),
        ('young = 2e4\nneedle = "needle"', 'young = 2e4\nneedle = "pin"', "pin"),
        ("length = 0.06", "length = 0.06\nposition = [0.0, 0.0, 1.0]", "no pose of its own"),
    ],
)
def test_impossible_objects_in_a_scene_file_are_refused(tmp_path, text, wrong, message):
    assert text in FILE
    path = tmp_path / "stitch.toml"
    path.write_text(FILE.replace(text, wrong))
    with pytest.raises(TrocarError, match=message):
        tr.load_scene(path)
