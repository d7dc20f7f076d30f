"""Wang et al. 2019: our errors use the rows of the published figures."""

import os
from pathlib import Path

import numpy as np
import pytest

import trocar as tr
from trocar.identification.pipeline import identify
from trocar.identification.signals import relative_error
from trocar_reproductions import wang2019
from trocar_reproductions.wang2019.identification import left_out_error
from trocar_reproductions.wang2019.recordings import ONE

DATA = os.environ.get("TROCAR_DATA")
measured = pytest.mark.skipif(DATA is None, reason="needs the recordings: TROCAR_DATA")


@pytest.fixture(scope="module")
def path():
    return Path(DATA or "") / ONE


@pytest.fixture(scope="module")
def identified(path):
    return identify(tr.load_recording(path, "PSM", as_recorded=True), "PSM")


@measured
def test_held_out_errors_over_all_rows_equal_cross_validation(identified):
    every_row = int(identified.signals.used.sum())
    np.testing.assert_allclose(left_out_error(identified, every_row), identified.cv_relative_error, rtol=1e-9)
    assert np.abs(left_out_error(identified, 1111) / identified.cv_relative_error - 1.0).max() > 0.05


@measured
def test_our_error_uses_the_rows_and_filtered_effort_of_the_published_figure(identified, path):
    data = wang2019.prepared_as_published("PSM", "PSM", path)  # stands in for the test recording
    claims = wang2019.ours_on_two("PSM", identified, path, data)
    joints, mean, against_fontanelli = claims[:7], claims[7], claims[8:]
    tau = data.signals.tau[data.signals.used][:1111]
    expected = relative_error(tau, identified.predicted[:1111])
    np.testing.assert_allclose([claim.ours for claim in joints], expected, rtol=1e-3)
    assert mean.ours == pytest.approx(expected.mean(), rel=1e-3)
    assert [claim.ours for claim in against_fontanelli] == [claim.ours for claim in joints]
    assert all("first 1111 rows" in claim.note for claim in claims)
    assert (
        np.abs(expected / identified.train_relative_error - 1.0).max() > 0.05
    )  # all rows would give a different number
