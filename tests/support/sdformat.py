"""Check of SDF files by Debian's sdformat 12, which knows SDF up to 1.9."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def check_sdf(file, models):
    """`ign sdf --check` accepts a file without warnings; model:// names folders in `models`."""
    if shutil.which("ign") is None or not list(Path("/usr/share/ignition").glob("sdformat*.yaml")):
        pytest.skip("sdformat's checker is not installed: apt install ignition-tools libsdformat-dev sdformat-sdf")
    paths = dict.fromkeys(("SDF_PATH", "IGN_FILE_PATH", "IGN_GAZEBO_RESOURCE_PATH"), str(models))
    done = subprocess.run(
        ["ign", "sdf", "--check", str(file)], capture_output=True, text=True, env={**os.environ, **paths}
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert "Valid." in output
    warnings = [line for line in output.splitlines() if "Warning" in line and "Ignoring version 1.11" not in line]
    assert not warnings
    assert "Error Code" not in output
