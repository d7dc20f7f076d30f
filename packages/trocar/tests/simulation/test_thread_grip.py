"""Jaws that grip a thread by friction: against Coulomb's law, and what they must not take."""

from __future__ import annotations

import numpy as np
import pytest

from trocar.simulation import Filament, Scene, SceneArm
from trocar.simulation.objects.thread_grip import OPEN
from trocar.simulation.skills import Hands
from trocar.simulation.skills.tying_setting import across, opposite_bases
from trocar.spatial import Array

FRICTION, MIDDLE = 0.3, np.array([0.0, -0.01, 0.02])
POST = np.array([0.0, 0.0, -0.12])


def scene(opening: float = 0.0) -> Scene:
    """One arm whose pads are around an upright thread."""
    arm = SceneArm(arm="PSM", base=opposite_bases()["PSM1"])
    alone = Scene({"PSM1": arm})
    q = alone.arms["PSM1"].mechanism.inverse_kinematics(
        np.linalg.inv(arm.base) @ across("PSM1", MIDDLE, 0.3), q_seed=np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.0])
    )
    q[-1] = opening
    ends = POST + MIDDLE + np.array([[0.0, 0.0, -0.015], [0.0, 0.0, 0.015]])
    thread = Filament("thread", ends, friction=FRICTION)
    return Scene({"PSM1": SceneArm(arm="PSM", base=arm.base, q=q)}, objects=[thread], timestep=1e-3)


def pulled(hands: Hands, force: float, duration: float) -> Array:
    """Positions of the thread after its lower end is pulled down with a force [N] for a time."""
    placed = hands.scene.objects["thread"]
    placed.steps.load[0] = [0.0, 0.0, -force]
    hands.hold(duration)
    return placed.points


@pytest.mark.parametrize("effort", [0.01, 0.04])
def test_a_thread_slips_at_twice_the_friction_of_the_squeeze(effort: float):
    start = scene()
    hands, placed = Hands(start), start.objects["thread"]
    hands.close("PSM1", effort, 0.3)
    masses = placed.gripped("PSM1")
    tip = start.T_world_tip("PSM1")
    lever = float(np.mean((placed.points[masses] - tip[:3, 3]) @ tip[:3, 2]))
    limit = 2.0 * FRICTION * effort / lever
    for share in np.linspace(0.1, 0.9, 9):
        resting = pulled(hands, share * limit, 0.02)
    resting = pulled(hands, 0.9 * limit, 0.3)
    assert placed.pull("PSM1") == pytest.approx(0.9 * limit, rel=0.02)
    again = pulled(hands, 0.9 * limit, 0.5)
    assert np.abs(again - resting)[masses].max() < 2e-6  # no creep
    assert placed.gripped("PSM1").tolist() == masses.tolist()
    slipped = pulled(hands, 1.1 * limit, 0.2)
    assert (resting - slipped)[masses, 2].min() > 1e-3


def test_open_jaws_let_go_and_closed_ones_take_nothing_in():
    start = scene()
    hands, placed = Hands(start), start.objects["thread"]
    between = placed.points
    hands.close("PSM1", 0.02, 0.2)
    assert len(placed.gripped("PSM1"))
    hands.open("PSM1", 0.3, 0.2)
    assert not len(placed.gripped("PSM1"))
    assert placed.pull("PSM1") == 0.0
    # put between pads that closed without it, the thread stays outside
    placed.steps.x[:] = between + [0.05, 0.0, 0.0]
    hands.close("PSM1", 0.02, 0.4)
    assert not len(placed.gripped("PSM1"))
    grip = placed.grips["PSM1"]
    placed.steps.x[:] = between
    grip.update(placed.steps, start.data)
    assert not len(placed.gripped("PSM1"))
    placed.steps.grip_limit[grip.column] = OPEN  # pads that close on it now take it
    grip.update(placed.steps, start.data)
    assert len(placed.gripped("PSM1"))


def test_a_snapshot_of_gripped_thread_continues_bit_for_bit():
    first = scene()
    hands = Hands(first)
    hands.close("PSM1", 0.02, 0.2)
    pulled(hands, 0.5, 0.05)
    middle, grips = first.snapshot(), dict(hands.grips)

    def after(start: Scene) -> Array:
        start.restore(middle)
        again = Hands(start)
        again.grips.update(grips)
        again.hold(0.05)
        return np.concatenate([start.objects["thread"].points.ravel(), start.data.qpos])

    np.testing.assert_array_equal(after(first), after(first))
    np.testing.assert_array_equal(after(scene()), after(first))
