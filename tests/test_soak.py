"""Hours of simulated time: the short form, two periods and a third after a resumption."""

import json
from pathlib import Path

import pytest

from tools import soak


def test_periods_balance_their_energy_and_go_on_bit_for_bit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak, "PERIOD", 2.0)
    wanted = {"subject": ["ECM"], "hours": 2 * soak.PERIOD / 3600, "seconds": 1e9, "output": tmp_path}
    soak.main(wanted)
    soak.main(wanted | {"hours": 3 * soak.PERIOD / 3600})
    assert "the same to the bit" in capsys.readouterr().out
    found = json.loads((tmp_path / "soak.json").read_text())["ECM"]
    assert found["hours"] == pytest.approx(3 * soak.PERIOD / 3600)
    assert found["energy_error"]["largest"] < 1e-2  # five times as fast as usual, where it is 1e-4
    assert found["loop"]["largest"] < 1e-6
    assert found["clock"]["largest"] < 1e-9
    assert (tmp_path / "soak.html").stat().st_size > 1000
