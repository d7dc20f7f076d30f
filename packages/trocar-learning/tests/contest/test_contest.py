"""The peg transfer of the ICRA 2026 competition: its scene and its rules."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.peg_trial import PegTrial
from trocar.simulation.objects.scene_object import OBJECT
from trocar.simulation.skills.hands import Hands
from trocar.spatial import pose, rotation
from trocar_learning.contest import contest_scene, draw_setting
from trocar_learning.contest.layouts import LAYOUTS, LEFT, RIGHT
from trocar_learning.contest.peg_board import PEGS
from trocar_learning.envs.tasks.peg_rules import NONE, ending

USED = LAYOUTS["contest"].used_on
STEP = 0.25  # between two judgements [s]
FINGERS = 3  # bits of both


class Trial(PegTrial):
    """A trial in which pegs are carried from post to post."""

    def look(self, times=1):
        for _ in range(times):
            self.scene.data.time += STEP
            self.judge()

    def carry(self, peg, post, arms=("PSM2", "PSM1"), height=0.0):
        for arm in arms:
            self.parts = {(arm, peg): FINGERS}
            self.scene.objects[peg].pose = pose(p=[0.0, 0.0, -0.1])
            self.look()
        x, y = LAYOUTS["contest"].posts[post]
        board = self.scene.objects["board"].pose
        self.scene.objects[peg].pose = board @ pose(p=[x, y, height])
        self.parts = {}
        self.look(4)


@pytest.fixture
def trial():
    return Trial(contest_scene())


def started(setting):
    """The trial of a setting after 0.1 s in which the arms hold."""
    trial = PegTrial(contest_scene(setting))
    Hands(trial.scene).hold(0.1)
    trial.judge()
    return trial


def test_pegs_start_at_rest_on_posts_of_the_left_side():
    for seed in range(3):
        trial = started(draw_setting(np.random.default_rng(seed)))
        assert all(trial.rules.is_on(trial, name, LEFT)[0] for name in PEGS)
        assert trial.score("points", "drops", "out") == (0, 0, 0)
        assert all(np.linalg.norm(trial.scene.objects[name].twist[:3]) < 1e-3 for name in PEGS)


def test_a_peg_on_each_post_of_the_other_side_gives_a_point_and_then_the_way_back_counts(trial):
    left, right = USED(LEFT), USED(RIGHT)
    trial.carry("blue", right[0])
    assert trial.score("points", "target") == (1, RIGHT)
    trial.carry("red", right[-1])
    assert trial.score("points", "target") == (2, LEFT)
    trial.carry("red", left[0], arms=("PSM1", "PSM2"))
    assert trial.score("points", "last") == (3, trial.value("red still"))


def test_a_move_out_of_order_gives_no_point(trial):
    left, right = USED(LEFT), USED(RIGHT)
    trial.carry("blue", right[0])
    trial.carry("blue", left[0])  # before red is on the right
    trial.carry("blue", right[0])
    assert trial.score("points", "blue post") == (1, right[0])
    trial.carry("red", right[-1])
    assert trial.score("points", "target") == (2, LEFT)


@pytest.mark.parametrize(
    ("aside", "height", "tilt", "speed", "looks", "points"),
    [
        (4.9e-3, 3.9e-3, 14.0, 4.9e-3, 3, 1),
        (5.1e-3, 0.0, 0.0, 0.0, 3, 0),  # 5 mm aside and 4 mm in height: SurRoL's PegTransfer
        (0.0, 4.1e-3, 0.0, 0.0, 3, 0),
        (0.0, 0.0, 16.0, 0.0, 3, 0),
        (0.0, 0.0, 0.0, 5.1e-3, 3, 0),
        (0.0, 0.0, 0.0, 0.0, 2, 0),  # 0.25 s of rest
    ],
)
def test_a_placed_peg_is_near_its_post_upright_and_still(trial, aside, height, tilt, speed, looks, points):
    for arm in ("PSM2", "PSM1"):
        trial.parts = {(arm, "blue"): FINGERS}
        trial.scene.objects["blue"].pose = pose(p=[0.0, 0.0, -0.1])
        trial.look()
    x, y = LAYOUTS["contest"].posts[USED(RIGHT)[0]]
    board = trial.scene.objects["board"].pose
    trial.scene.objects["blue"].pose = board @ pose(rotation("x", np.radians(tilt)), [x + aside, y, height])
    joint = trial.scene.model.body(f"{OBJECT}blue").jntadr[0]
    trial.scene.data.qvel[trial.scene.model.jnt_dofadr[joint]] = speed
    trial.parts = {}
    trial.look(looks)
    assert trial.score("points") == (points,)


@pytest.mark.parametrize(
    ("place", "ended"),
    [
        ([0.0849, 0.0, 0.0], False),  # half of the plate and 10 mm
        ([0.0851, 0.0, 0.0], True),
        ([0.0, -0.0649, 0.0], False),
        ([0.0, -0.0651, 0.0], True),
        ([0.0, 0.0, -0.0099], False),
        ([0.0, 0.0, -0.0101], True),
    ],
)
def test_the_workspace_ends_10_mm_beyond_the_board(trial, place, ended):
    trial.scene.objects["red"].pose = trial.scene.objects["board"].pose @ pose(p=place)
    trial.look()
    assert bool(ending(trial.memory)) == ended


def test_a_peg_without_a_handover_gives_no_point(trial):
    trial.carry("blue", USED(RIGHT)[0], arms=("PSM2",))
    assert trial.score("points", "blue post") == (0, USED(RIGHT)[0])


def test_a_peg_that_is_let_go_between_the_posts_is_one_drop(trial):
    trial.parts = {("PSM2", "red"): FINGERS}
    trial.look()
    trial.parts = {}
    trial.scene.objects["red"].pose = trial.scene.objects["board"].pose @ pose(rotation("x", 1.5), [0.04, 0.0, 0.03])
    trial.look(8)
    assert trial.score("drops", "points", "out") == (1, 0, 0)
    assert trial.value("red post") == NONE


def test_a_peg_that_leaves_the_board_ends_the_trial(trial):
    trial.scene.objects["red"].pose = pose(p=[0.2, 0.0, -0.1])
    trial.look(2)
    assert ending(trial.memory) == "the red peg left the workspace"


def test_the_variant_of_surrol_has_its_board_and_starts_at_rest():
    trial = started(draw_setting(np.random.default_rng(4), "surrol"))
    layout = trial.rules.layout
    assert (len(layout.posts), layout.wall) == (12, None)
    assert all(trial.rules.is_on(trial, name, LEFT)[0] for name in PEGS)
    hexagon = layout.posts[layout.used_on(LEFT)]
    radii = np.linalg.norm(hexagon - hexagon.mean(axis=0), axis=1)
    np.testing.assert_allclose(radii, 0.023, atol=1e-4)  # peg_board.urdf: six posts on a circle of 23 mm
