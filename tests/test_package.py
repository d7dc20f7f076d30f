"""The package itself: names available after `import trocar`, and modules that it does not load."""

import pkgutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest

import trocar as tr

ENGINES = ("mujoco", "pinocchio", "numpy")
GPU = "trocar.batch.worlds"  # requires the extra gpu, which no other test installs
TORCH = "trocar_learning.envs.worlds.rsl_worlds"  # requires rsl_rl, likewise


@pytest.mark.parametrize("name", tr.__all__)
def test_every_public_name_exists_and_is_listed(name):
    assert getattr(tr, name) is not None
    assert name in dir(tr)


def test_a_missing_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Simulater'"):
        tr.Simulater  # noqa: B018


def test_subpackages_are_available_without_a_separate_import():
    code = "import trocar as tr; print(len(tr.arms.instruments.names('PSM')), tr.control.quintic.__name__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "27 quintic\n"


def test_the_command_line_loads_no_engine_before_a_command_runs():
    code = f"import sys, trocar.cli; print([name for name in {ENGINES} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("trocar.load_mechanism('PSM')", ("scipy.linalg", "scipy.stats", "scipy.signal", "mujoco", "matplotlib")),
        ("trocar.Simulator('PSM')", ("scipy.linalg", "scipy.stats", "scipy.signal", "pinocchio", "matplotlib")),
        ("from trocar.view import pages", ("scipy.stats", "matplotlib")),
    ],
)
def test_programs_load_only_what_they_use(code, absent):
    """SciPy's statistics alone take longer to import than numpy and MuJoCo."""
    show = f"import sys, trocar; {code}; print([name for name in {absent} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_dir_lists_exactly_the_public_names_and_packages():
    code = "import trocar as tr; tr.Simulator; tr.render; print(*dir(tr))"
    listed = set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split())
    rooms = {
        "appearance",
        "arms",
        "batch",
        "calibration",
        "control",
        "errors",
        "identification",
        "mechanics",
        "recording",
        "robot",
    }
    assert listed == {*tr.__all__, *rooms, "simulation", "view", "__doc__", "__version__"}


def test_the_public_names_are_unchanged():
    assert set(tr.__all__) == {
        *("ARMS", "Arm", "load_arm", "load_instrument", "load_endoscope"),
        *("Mechanism", "load_mechanism", "Cart", "Placement", "load_cart"),
        *("Scene", "SceneArm", "Simulator", "load_scene", "simulate", "Cable", "Compliance", "Diverged", "render"),
        *("ElasticMount", "ReducedSimulator", "Robot"),
        *("ComputedTorque", "GravityCompensation", "JointPD", "JointPID", "Setpoint", "State", "hold"),
        *("Recording", "load_recording", "identify", "calibrate", "sweep", "Robot", "show"),
        *("Inaccurate", "NearLimit", "NearSingular", "TrocarError", "Unreachable", "Unsolved"),
    }


@pytest.mark.parametrize(
    "package",
    [
        *("trocar.arms", "trocar.batch", "trocar.calibration", "trocar.control", "trocar.identification"),
        *("trocar.mechanics", "trocar.recording", "trocar.simulation", "trocar.sweep"),
        "trocar_learning.episodes",
        "trocar_reproductions.datasets",
    ],
)
def test_a_package_lists_its_public_names_and_leaks_nothing(package):
    """`from trocar.PACKAGE import *` gives the documented names: no modules of other packages, no `annotations`."""
    module = import_module(package)
    assert module.__doc__
    assert sorted(module.__all__) == module.__all__
    for name in module.__all__:
        found = getattr(module, name)
        assert not isinstance(found, ModuleType) or found.__name__.startswith("trocar"), name
        assert name not in ("annotations", "Any", "Callable", "Mapping", "Sequence")
    assert any(name in module.__doc__ for name in module.__all__)


def test_no_name_of_a_package_hides_its_module():
    """`import trocar.simulation.scene as scene` binds the module, in every package."""
    roots = (tr, import_module("trocar_learning"), import_module("trocar_reproductions"))
    for package in (package for root in roots for package in pkgutil.walk_packages(root.__path__, f"{root.__name__}.")):
        if package.ispkg and (package.name != GPU or find_spec("mujoco_warp")):
            found = import_module(package.name)
            for module in pkgutil.iter_modules(found.__path__):
                name = f"{package.name}.{module.name}"
                if name != TORCH or find_spec("rsl_rl"):
                    import_module(name)
                    assert isinstance(getattr(found, module.name), ModuleType), name


def test_every_file_states_the_same_version():
    from tools.release_check import versions

    assert versions() == tr.__version__
