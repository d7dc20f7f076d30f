"""Write what the page takes from Python.

    python -m tools.site

`make site` runs it. The files are committed; a test compares them with the output of this module.
"""

from __future__ import annotations

import json
from pathlib import Path

from tools.site.contest_model import contest_mjcf
from tools.site.laws import declarations, javascript
from tools.site.papers import SI_MODEL, si_model
from tools.site.table import refit_model, table
from trocar.files import write_whole

FOLDER = Path(__file__).parents[2] / "site" / "src" / "generated"


def texts() -> dict[str, str]:
    """Contents of the generated files, by name."""
    return {
        "laws.js": javascript(),
        "laws.d.ts": declarations(),
        "peg_transfer.xml": contest_mjcf(),
        "psm_refit.xml": refit_model(),
        f"{SI_MODEL}.xml": si_model(),
        "table.json": json.dumps(table(), indent=1, allow_nan=False) + "\n",
    }


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in texts().items():
        write_whole(FOLDER / name, text.encode())


if __name__ == "__main__":
    main()
