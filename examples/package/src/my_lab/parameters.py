"""The parameter set `our_arm`: a file that `trocar identify ... -o our_arm.toml` wrote; here a copy of wang2019."""

from pathlib import Path

OUR_ARM = Path(__file__).parent / "our_arm.toml"
