"""Options of an arm, declared once for every loader."""

import inspect
from dataclasses import fields

import pytest

import trocar as tr
from trocar import batch
from trocar.mechanics import ArmOptions


def test_every_loader_takes_the_options_of_an_arm():
    for loader in (tr.load_mechanism, tr.Simulator, batch.load, tr.SceneArm):
        arguments = inspect.signature(loader).parameters
        for option in fields(ArmOptions):
            assert arguments[option.name].default == option.default, (loader, option.name)


@pytest.mark.parametrize("loader", [tr.load_mechanism, tr.Simulator, batch.load])
def test_a_misspelt_option_is_reported_with_the_known_ones(loader):
    with pytest.raises(tr.TrocarError, match=r"'instrumnt' is unknown\. Did you mean 'instrument'\?"):
        loader("PSM", instrumnt="400006")


def test_the_options_of_a_simulated_arm_reach_its_mechanism():
    sim = tr.Simulator("PSM", counterweight=False, instrument="400093", added_mass=0.05)
    alone = tr.load_mechanism("PSM", counterweight=False, instrument="400093", added_mass=0.05)
    assert (sim.mechanism.gravity(sim.arm.home) == alone.gravity(sim.arm.home)).all()
    assert (sim.mechanism.gravity(sim.arm.home) != tr.load_mechanism("PSM").gravity(sim.arm.home)).any()
