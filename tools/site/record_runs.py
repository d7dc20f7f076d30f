"""Record the runs with which the page is compared: `site/test/reference.json`.

    python -m tools.site.record_runs [SCENE ...] [--encoders] [-o FILE]

Run it in an environment with the version of MuJoCo that the page uses. `reference` has the scripted runs of the arms,
`contest_run` the expert's game of the peg transfer.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import mujoco

from tools.site import contest_run, reference

GAME = 20.0  # recorded part of the expert's game [s]


def main() -> None:
    scenes = list(json.loads((reference.ROOT / "site/test/scripts.json").read_text(encoding="utf-8")))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", default=[*scenes, contest_run.NAME])
    parser.add_argument("--encoders", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=reference.ROOT / "site/test/reference.json")
    options = parser.parse_args()
    content = {"mujoco": mujoco.__version__, "sample": reference.SAMPLE, "game_sample": contest_run.SAMPLE, "runs": {}}
    for name in options.scenes:
        table = json.loads((reference.GENERATED / "table.json").read_text(encoding="utf-8"))
        if name == contest_run.NAME:
            content["game"] = contest_run.samples(table, GAME, options.encoders)
        else:
            content["runs"][name] = reference.run(name, encoders=options.encoders)
    options.output.write_text(json.dumps(content) + "\n")


if __name__ == "__main__":
    main()
