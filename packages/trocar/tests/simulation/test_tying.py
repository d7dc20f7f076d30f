"""A throw that two arms tie by friction and contact alone."""

from __future__ import annotations

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.simulation.skills import Hands, tie_scene, tie_throw


def test_two_arms_tie_a_throw_around_an_instrument():
    scene = tie_scene(rod=1e-3, hand=-1)
    hands, thread = Hands(scene), scene.objects["thread"]
    assert thread.thing.ends == (None, None)  # nothing is attached
    assert thread.knot.name == "unknot"
    result = tie_throw(hands, hand=-1, tension=0.5)
    assert result.knot.throws == (-1,)
    assert result.reached
    assert result.wound == pytest.approx(3.0 * np.pi, abs=0.2)  # one and a half times
    assert min(thread.pull("PSM1"), thread.pull("PSM2")) >= 0.5


def test_a_throw_needs_the_long_end_in_the_jaws_and_a_sense():
    scene = tie_scene(rod=1e-3)
    with pytest.raises(TrocarError, match="hand must be 1 or -1"):
        tie_throw(Hands(scene), hand=0)
    with pytest.raises(TrocarError, match="PSM2 does not hold the long end"):
        tie_throw(Hands(scene), other="PSM2", tool="PSM1")
    with pytest.raises(TrocarError, match="is not a Filament"):
        tie_throw(Hands(scene), "post")
    with pytest.raises(TrocarError, match="use a shorter long end"):
        tie_scene(long=0.5)
