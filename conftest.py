"""Arms in every published geometry, joint states that properties are checked on, and markers of tests."""

import itertools
import os
import signal
from pathlib import Path

# A shell starts programs in the background with SIGINT ignored, and commands under test would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Read when numpy is loaded. The matrices here are small: BLAS threads of parallel test processes only wait for each
# other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

import trocar as tr
from tests.support.markers import MARKERS, budget_lines, by_room, markers
from tests.support.odd_values import CAMPAIGN, INPUTS, SEED, add_piece
from tests.support.repository import ROOT

MECHANISMS = (
    ("PSM", "wang2019"),
    ("PSM", "gondokaryono2019"),
    ("PSM_Si", "zhou2025"),
    ("ECM", "gondokaryono2019"),
    ("ECM_Si", "saw"),
    ("MTML", "wang2019"),
    ("MTMR", "wang2019"),
)


@pytest.fixture(params=MECHANISMS, ids="-".join, scope="session")
def mechanism(request):
    """A mechanism of each arm and geometry in turn; kinematics need no parameter set."""
    return tr.Mechanism(tr.load_arm(*request.param))


@pytest.fixture(params=list(tr.ARMS), scope="session")
def arm_mechanism(request):
    """A mechanism of each arm in turn, in its default geometry: for properties that do not depend on the geometry."""
    return tr.load_mechanism(request.param)


@pytest.fixture(scope="session")
def random_states():
    """`random_states(mechanism, count)`: states (count, n) uniform within the joint limits, always the same."""

    def states(mechanism, count, seed=0):
        arm = mechanism.arm
        return np.random.default_rng(seed).uniform(arm.lower, arm.upper, (count, arm.n))

    return states


@pytest.fixture(scope="session")
def states(mechanism, random_states):
    """Home, zero, next to zero, every corner of the joint limits, and 50 random states."""
    arm = mechanism.arm
    corners = np.array(list(itertools.product(*zip(arm.lower, arm.upper, strict=True))))
    near_zero = 1e-9 * np.random.default_rng(1).uniform(-1.0, 1.0, (5, arm.n))
    special = np.vstack([arm.home, np.zeros(arm.n), near_zero])
    return np.vstack([special, corners, random_states(mechanism, 50)])


def pytest_configure(config):
    """Register the markers that paths and names decide."""
    for name, text in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")


def pytest_collection_modifyitems(items):
    """Mark every test by its path and name."""
    for item in items:
        path = item.path.relative_to(ROOT).as_posix()
        groups = [str(mark.args[0] if mark.args else mark.kwargs["name"]) for mark in item.iter_markers("xdist_group")]
        for name in markers(path, getattr(item, "originalname", item.name), groups):
            item.add_marker(name)


WHOLE = 3000  # tests of a run after which the time of each room is printed


def pytest_terminal_summary(terminalreporter):
    """Print the time of each room after a whole run, and the inputs that a fuzz campaign sent to each interface."""
    reports = [report for kind in terminalreporter.stats.values() for report in kind if hasattr(report, "duration")]
    if len({report.nodeid for report in reports}) > WHOLE:
        terminalreporter.section("time of each room")
        for line in budget_lines(by_room((report.location[0], report.duration) for report in reports)):
            terminalreporter.write_line(line)
    if CAMPAIGN and INPUTS:
        terminalreporter.section(f"{sum(INPUTS.values())} inputs, seed {SEED}")
        for door, count in sorted(INPUTS.items()):
            terminalreporter.write_line(f"{count:8d}  {door}")


def pytest_runtest_logreport(report):
    """Let `tools.fuzz` know the inputs of each test."""
    if "TROCAR_FUZZ_REPORT" in os.environ and report.when != "teardown":
        add_piece(report, Path(os.environ["TROCAR_FUZZ_REPORT"]))
