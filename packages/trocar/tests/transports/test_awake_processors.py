"""The request to Linux that idle processors stay awake."""

from __future__ import annotations

from pathlib import Path

import pytest

from trocar.transports import priority


def test_a_wake_up_time_of_zero_is_requested_while_a_server_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = tmp_path / "cpu_dma_latency"
    device.write_bytes(b"")
    monkeypatch.setattr(priority, "WAKE_UP", str(device))
    with priority.awake_processors() as granted:
        assert granted
        assert device.read_bytes() == bytes(4)


def test_a_system_that_refuses_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "WAKE_UP", str(tmp_path / "missing" / "file"))
    with priority.awake_processors() as granted:
        assert not granted
