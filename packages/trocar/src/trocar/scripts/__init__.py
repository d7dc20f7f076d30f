"""Stand-ins for the Python packages of ROS 1 and of the dVRK, for scripts that `trocar run` starts.

`launcher.run_script` installs them as PyKDL, rospy, crtk, dvrk, ... while a script runs; they cannot be imported under
these names otherwise. All of them use one robot in this process through a `session.Session`.
"""

import tomllib
from pathlib import Path

PACKAGES, RELEASE_1 = (
    tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
    for name in ("packages", "release_1")
)
