"""Write requirements.lock: the exact versions and hashes with which trocar and its extras were resolved.

    python -m tools.lock_file

`make lock` runs it. pip resolves the core and every extra but `dev`, `docs` and `learn` without installing anything;
hashes are those of the files for this Python and platform, which the header names. `pip install --require-hashes -r
requirements.lock` installs exactly these files. A test compares the pins with pyproject.toml.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from trocar.files import write_whole

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def extras() -> list[str]:
    """Extras that the lock file covers; not `learn`, whose torch differs between machines with and without a GPU."""
    return sorted(name for name in project()["optional-dependencies"] if name not in ("dev", "docs", "learn"))


def resolved() -> list[dict[str, Any]]:
    """pip's report on every distribution that it would install."""
    target = f"{ROOT}[{','.join(extras())}]"
    command = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed", "--report", "-", target]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    installed: list[dict[str, Any]] = json.loads(done.stdout)["install"]
    return installed


def lock_text(report: list[dict[str, Any]]) -> str:
    """Text of the lock file."""
    lines = []
    for item in report:
        name, version = item["metadata"]["name"].lower().replace("_", "-"), item["metadata"]["version"]
        if name == "trocar":
            continue
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        lines.append(f"{name}=={version} --hash=sha256:{digest}")
    system = f"CPython {platform.python_version()}, {platform.system()} {platform.machine()}"
    head = f"# trocar {project()['version']} with the extras {', '.join(extras())}; {system}. Written by make lock."
    return "\n".join([head, *sorted(lines), ""])


def pins(text: str) -> dict[str, str]:
    """Versions by name of a lock file."""
    lines = (line.split(" ")[0] for line in text.splitlines() if line and not line.startswith("#"))
    return dict(line.split("==", 1) for line in lines)


def locked_extras(text: str) -> list[str]:
    """Extras that a lock file covers, from its head."""
    return text.partition(" with the extras ")[2].partition(";")[0].split(", ")


def main() -> None:
    write_whole(LOCK, lock_text(resolved()))
    print(f"{LOCK.name}: {len(pins(LOCK.read_text(encoding='utf-8')))} distributions")


if __name__ == "__main__":
    main()
