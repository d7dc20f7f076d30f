"""A recording as one HTML file that needs neither server nor installation."""

from __future__ import annotations

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import trocar as tr
from trocar.cli import app

pytest.importorskip("viser", reason="pip install 'trocar[view]'")


def test_a_recording_becomes_one_file_with_its_frames(tmp_path):
    arm, t = tr.load_arm("PSM"), np.linspace(0.0, 0.5, 26)
    q = np.tile(arm.home, (26, 1))
    q[:, 0] += 0.4 * t
    about = {"joints": arm.joint_names, "joint_units": arm.joint_units, "provenance": {"arm": "PSM"}}
    recording = tr.Recording(t=t, q=q, dq=0 * q, **about)
    path = recording.save(tmp_path / "run.npz")
    result = CliRunner().invoke(app, ["view", str(path), "--html", str(tmp_path / "run.html")])
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "run.html").read_text("utf-8")
    assert "<title>run.npz: PSM</title>" in page
    assert "__VISER_EMBED_DATA__" in page
    assert not re.search(r'<(script|link|img)[^>]+(src|href)="https?:', page)  # nothing is loaded from elsewhere
    shorter = tr.Recording(t=t[:2], q=q[:2], dq=0 * q[:2], **about).save(tmp_path / "still.npz")
    assert CliRunner().invoke(app, ["view", str(shorter), "--html", str(tmp_path / "still.html")]).exit_code == 0
    assert len(page) > len((tmp_path / "still.html").read_text("utf-8"))  # the motion is inside
    result = CliRunner().invoke(app, ["view", str(path), "--html", str(tmp_path / "run.txt")])
    assert result.exit_code == 2
    assert "FILE.html" in result.stderr
