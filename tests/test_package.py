"""The package itself: what `import trocar` gives, and what it does not load."""

import subprocess
import sys

import pytest

import trocar as tr

ENGINES = ("mujoco", "pinocchio", "numpy")


@pytest.mark.parametrize("name", tr.__all__)
def test_every_public_name_is_there_and_listed(name):
    assert getattr(tr, name) is not None
    assert name in dir(tr)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Simulater'"):
        tr.Simulater  # noqa: B018


def test_subpackages_are_reached_without_a_further_import():
    code = "import trocar as tr; print(len(tr.arms.instruments.names('PSM')), tr.control.quintic.__name__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "27 quintic\n"


def test_the_command_line_loads_no_engine_before_a_command_runs():
    code = f"import sys, trocar.cli; print([name for name in {ENGINES} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
