"""Robots of the tests of this room, of scenes that are built once."""

import pytest

from tests.support.crtk_robot import started


@pytest.fixture
def robot():
    """`robot(name)`: a robot of a built-in scene or of one arm, with the options of `started`."""
    return started


@pytest.fixture
def psm():
    """The client of a PSM that is ready."""
    return started().psm("PSM")
