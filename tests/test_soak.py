"""The soak in a short form: two periods, a third after resuming, and seconds of a live page."""

import json

import numpy as np
import pytest

import trocar as tr
from tools.soak import resumable
from tools.soak.__main__ import main
from tools.soak.energy_meter import EnergyMeter


@pytest.fixture
def short_periods(monkeypatch):
    """Periods of 2 s; the motion is then five times as fast."""
    monkeypatch.setattr(resumable, "PERIOD", 2.0)


def test_periods_balance_their_energy_and_resume_bit_for_bit(tmp_path, capsys, short_periods):
    for periods in (2, 3):
        hours = str(periods * resumable.PERIOD / 3600)
        main(["ECM", "--hours", hours, "--free", hours, "--page", "0", "-o", str(tmp_path)])
    assert capsys.readouterr().out.count("bit-for-bit the same") == 2
    results = json.loads((tmp_path / "soak.json").read_text())
    found = results["periodic"]["ECM"]
    assert found["hours"] == pytest.approx(3 * resumable.PERIOD / 3600)
    assert found["energy_error"]["largest"] < 1e-2  # 6e-4 at the usual speed
    assert 0 < found["loop"]["largest"] < 1e-6
    assert found["clock"]["largest"] < 1e-9
    found = results["free"]["ECM"]
    assert found["swing"]["mean"] > 0.1
    assert found["drift"]["largest"] < 1e-6 * found["swing"]["mean"]
    assert (tmp_path / "soak.html").stat().st_size > 1000


def test_a_period_that_is_not_reproduced_is_an_error(tmp_path, short_periods, monkeypatch):
    command = ["ECM", "--hours", str(2 * resumable.PERIOD / 3600), "--free", "0", "--page", "0", "-o", str(tmp_path)]
    main(command)
    step = tr.Scene.step
    monkeypatch.setattr(tr.Scene, "step", lambda scene, tau: step(scene, {"ECM": tau["ECM"] * (1 + 1e-15)}))
    with pytest.raises(SystemExit, match="is not reproduced"):
        main(command)


def test_a_force_that_no_motor_exerts_breaks_the_balance():
    sim = tr.Simulator("ECM", gravity=np.zeros(3))
    balances = []
    for push in (0.0, 20.0):  # [N]
        sim.reset(sim.arm.home, [0.3, 0.3, 0.05, 0.3])
        sim.apply_wrench([0.0, 0.0, push, 0.0, 0.0, 0.0])
        meter = EnergyMeter(sim.scene, 100)
        energy = resumable.mechanical_energy(sim)
        for _ in range(100):
            sim.step(np.zeros(4))
            meter.add()
        assert meter.disagreement() < 1e-12
        meter.read()
        balances.append(resumable.mechanical_energy(sim) - energy - meter.work + meter.lost)
    assert abs(balances[0]) < 0.02 * meter.lost
    assert abs(balances[1]) > 0.2 * meter.lost
    assert meter.lost > 0


def test_a_live_page_keeps_running_with_a_browser_connected(tmp_path):
    pytest.importorskip("viser", reason="pip install 'trocar[view]'")
    main(["PSM", "--hours", "0", "--free", "0", "--page", "3", "-o", str(tmp_path)])
    found = json.loads((tmp_path / "soak.json").read_text())["page"]["PSM"]
    assert found["hours"] > 0
    assert found["moved"]["largest"] > 1e-3
    assert found["browsers"]["mean"] == 1
    assert found["errors"]["largest"] == 0
    assert found["clock"]["largest"] < 1e-12


@pytest.mark.xdist_group("dds")
def test_a_robot_in_ros_2_outlives_rough_clients(tmp_path, monkeypatch):
    pytest.importorskip("cyclonedds", reason="pip install 'trocar[ros2]'")
    from tools.soak.served_ros2 import THREADS

    monkeypatch.setattr("tools.soak.rough_clients.VISIT", (0.5, 2.0))
    monkeypatch.setattr("tools.soak.served_ros2.ARMS", ("ECM",))  # that move at the end
    # threads of services start with the first clients: too short a run to judge growth
    monkeypatch.setattr("tools.soak.served_ros2.MAX_COUNT_GROWTH", 20.0)
    monkeypatch.setattr("tools.soak.served_ros2.MAX_MEMORY_GROWTH", 0.2)
    main(["--hours", "0", "--free", "0", "--page", "0", "--ros2", "0.05", "-o", str(tmp_path)])
    found = json.loads((tmp_path / "soak.json").read_text())["ros2"]["ECM"]
    assert found["visits"]["largest"] >= THREADS
    assert found["actions"]["largest"] > found["visits"]["largest"]
    assert found["rate"]["mean"] > 0
    assert len((tmp_path / "ros2.log").read_text().splitlines()) == 2  # the address, and "stopped"


def test_growth_is_a_problem():
    served = pytest.importorskip("tools.soak.served_ros2").ServedRos2
    row = dict.fromkeys(served.columns, 1.0)
    for growing in (None, "memory_mb", "files", "threads", "log_kb"):
        soak = served(None)
        soak.rows = [
            tuple({**row, "real_time": k + 1, growing: 3.0 * k}[name] for name in served.columns) for k in range(12)
        ]
        assert len(soak.verdict()) == (0 if growing is None else 1)
