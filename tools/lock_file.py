"""Write requirements.lock: the exact versions and hashes with which the three packages and their extras were resolved.

    python -m tools.lock_file

`make lock` runs it. pip resolves the core and every extra but `docs` and `learn` without installing anything;
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


PACKAGES = ("trocar", "trocar-learning", "trocar-reproductions")


def project(package: str = "trocar") -> dict[str, Any]:
    """The table `project` of a package's pyproject.toml."""
    text = (ROOT / "packages" / package / "pyproject.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = tomllib.loads(text)["project"]
    return table


def extras(package: str) -> list[str]:
    """Extras that the lock file covers; not `learn`, whose torch differs between machines with and without a GPU."""
    return sorted(name for name in project(package)["optional-dependencies"] if name not in ("docs", "learn"))


def covered() -> list[str]:
    """Packages with their extras, as the head of the lock file names them."""
    chosen = {package: ",".join(extras(package)) for package in PACKAGES}
    return [f"{package}[{names}]" if names else package for package, names in chosen.items()]


def requirements() -> list[str]:
    """Dependencies of the packages and of the covered extras, without those on each other."""
    tables = {package: project(package) for package in PACKAGES}
    lines = [line for table in tables.values() for line in table["dependencies"]]
    for package, table in tables.items():
        lines += [line for name in extras(package) for line in table["optional-dependencies"][name]]
    return [line for line in lines if not line.startswith("trocar==")]


def resolved() -> list[dict[str, Any]]:
    """pip's report on every distribution that it would install."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed", "--report", "-"]
    done = subprocess.run([*pip, *requirements()], capture_output=True, text=True, check=True)
    installed: list[dict[str, Any]] = json.loads(done.stdout)["install"]
    return installed


def lock_text(report: list[dict[str, Any]]) -> str:
    """Text of the lock file."""
    lines = []
    for item in report:
        name, version = item["metadata"]["name"].lower().replace("_", "-"), item["metadata"]["version"]
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        lines.append(f"{name}=={version} --hash=sha256:{digest}")
    system = f"CPython {platform.python_version()}, {platform.system()} {platform.machine()}"
    head = f"# {project()['version']}: {' '.join(covered())}; {system}. Written by make lock."
    return "\n".join([head, *sorted(lines), ""])


def pins(text: str) -> dict[str, str]:
    """Versions by name of a lock file."""
    lines = (line.split(" ")[0] for line in text.splitlines() if line and not line.startswith("#"))
    return dict(line.split("==", 1) for line in lines)


def locked(text: str) -> tuple[str, list[str]]:
    """Version, and packages with their extras, that a lock file covers, from its head."""
    version, _, names = text.partition(";")[0].removeprefix("# ").partition(": ")
    return version, names.split()


def main() -> None:
    write_whole(LOCK, lock_text(resolved()))
    print(f"{LOCK.name}: {len(pins(LOCK.read_text(encoding='utf-8')))} distributions")


if __name__ == "__main__":
    main()
