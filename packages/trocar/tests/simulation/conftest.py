"""Arms and their exported files, built once for all tests of exports."""

import pytest

from trocar.simulation import Simulator
from trocar.simulation.export import write_model


@pytest.fixture(scope="session", params=("PSM", "ECM", "MTML", "MTMR", "PSM_Si", "ECM_Si"))
def sim(request):
    """A simulator of each arm in turn."""
    return Simulator(request.param)


@pytest.fixture(scope="session")
def folder(sim, tmp_path_factory):
    """Its files in the default formats, read by other programs."""
    path = tmp_path_factory.mktemp(sim.arm.name)
    write_model(sim, path)
    return path
