"""A wound between two flaps, closed with one stitch."""

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.simulation import Thread
from trocar.simulation.skills import Hands, close_wound, suture_scene, tighten, wound_scene, wound_width

pytestmark = pytest.mark.xdist_group("wound")  # one worker: fixtures are built once
ARM, EFFORT = "PSM1", 0.12


@pytest.fixture(scope="module")
def closure():
    thread = Thread("thread", "needle", length=0.03, segments=6, knot=True)
    scene = wound_scene(gap=1.5e-3, young=4e4, cells=(2, 2, 2), thread=thread)
    hands = Hands(scene)
    hands.close(ARM, EFFORT, 0.3)
    assert wound_width(scene) == pytest.approx(1.5e-3, abs=2e-5)
    return scene, close_wound(hands, ARM, EFFORT)


def test_a_wound_is_closed_at_less_than_a_newton(closure):
    scene, result = closure
    assert result.closed
    assert result.tightening.held
    assert 0.05 < result.tightening.closed_at < 1.0
    assert wound_width(scene) < 0.3e-3
    assert result.tightening.tension.max() <= 1.0


def test_a_needle_passes_both_flaps_and_every_step_converges(closure):
    scene, result = closure
    assert [event.what for event in result.bite.events] == 2 * ["touch", "puncture", "entry", "exit"]
    tied = [point.kind for name in ("left", "right") for point in scene.objects[name].forces]
    assert tied.count("entry") == tied.count("exit") == 2
    assert scene.unconverged == 0


def test_a_wound_needs_a_stopper_and_two_flaps():
    scene = suture_scene()
    hands = Hands(scene)
    with pytest.raises(TrocarError, match="stopper"):
        close_wound(hands, ARM, EFFORT)
    with pytest.raises(TrocarError, match="left"):
        wound_width(scene)
    with pytest.raises(TrocarError, match="not a tissue"):
        wound_width(scene, "tissue", "needle")
    with pytest.raises(TrocarError, match="tension"):
        tighten(hands, ARM, tension=-1.0)
    with pytest.raises(TrocarError, match="gap"):
        wound_scene(gap=np.nan)
