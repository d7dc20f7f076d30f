"""Checks a release: `python -m tools.release_check [--extras view,bags]`.

Builds the sdist and the wheel, installs the wheel with its extras into a new environment outside the tree, and there
runs `trocar --version`, `trocar --help`, `trocar demo` and an import of every package of every extra. Versions in
pyproject.toml, CITATION.cff, CHANGELOG.md and the package must agree.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = {  # other files that state the version, besides pyproject.toml
    "CITATION.cff": r"^version: (\S+)$",
    "CHANGELOG.md": r"^## \[(\d[^\]]*)\]",
    "src/trocar/__init__.py": r"^__version__ = \"(\S+)\"",
}
# run in the new environment: every distribution that an extra requires is installed, and its modules can be imported
IMPORTS = """
import importlib, importlib.metadata as m, re, sys
from packaging.requirements import Requirement
extras = sys.argv[1].split(",")
modules = m.packages_distributions()
failed = []
for extra in extras:
    for line in m.requires("trocar"):
        wanted = Requirement(line)
        if wanted.marker is None or not wanted.marker.evaluate({"extra": extra}) or "extra" not in str(wanted.marker):
            continue
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        own = [k for k, v in modules.items() if name in [re.sub(r"[-_.]+", "-", d).lower() for d in v]]
        tops = [k for k in own if k.isidentifier() and not k.startswith("_")]
        if not tops:
            print(f"{extra}: {name}: no importable module")
        for top in tops[:1]:
            try:
                importlib.import_module(top)
                print(f"{extra}: import {top}")
            except Exception as error:
                failed.append(f"{extra}: import {top}: {error!r}")
import trocar
assert "site-packages" in trocar.__file__, trocar.__file__
sys.exit("\\n".join(failed))
"""


def versions() -> str:
    """The version, if all files that state it agree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = {"pyproject.toml": project["version"]}
    for name, pattern in VERSIONS.items():
        match = re.search(pattern, (ROOT / name).read_text("utf-8"), re.MULTILINE)
        found[name] = match[1] if match else "none"
    if len(set(found.values())) > 1:
        raise SystemExit("versions differ: " + ", ".join(f"{name} {version}" for name, version in found.items()))
    return str(project["version"])


def run(*command: str | Path, cwd: Path) -> str:
    """Output of a command; its failure ends the check."""
    print("$", *command, flush=True)
    made = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    if made.returncode:
        raise SystemExit(f"{made.stdout[-4000:]}{made.stderr[-4000:]}\nexit status {made.returncode}")
    return made.stdout


def check_contents(wheel: Path, sdist: Path) -> None:
    """Check the contents: one top-level package and the arms' data in the wheel; sources and tests in the sdist."""
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    if tops != {"trocar"} or not any(name.endswith("arms/data/psm.toml") for name in names):
        raise SystemExit(f"{wheel.name} holds {sorted(tops)}")
    with tarfile.open(sdist) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    missing = {"pyproject.toml", "README.md", "LICENSE", "CITATION.cff", "src/trocar/__init__.py"} - inside
    if missing:
        raise SystemExit(f"{sdist.name} lacks {sorted(missing)}")


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    every = [extra for extra in project["optional-dependencies"] if extra != "dev"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extras", default=",".join(every), help="extras to install and import (default: all but dev)")
    extras = parser.parse_args().extras
    version = versions()
    with tempfile.TemporaryDirectory(prefix="trocar-release-") as temporary:
        folder = Path(temporary)
        run(sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT, cwd=folder)
        (wheel,), (sdist,) = (list((folder / "dist").glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
        check_contents(wheel, sdist)
        run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
        python, trocar = folder / "venv" / "bin" / "python", folder / "venv" / "bin" / "trocar"
        run(python, "-m", "pip", "install", "-q", f"{wheel}[{extras}]", "packaging", cwd=folder)
        if run(trocar, "--version", cwd=folder).strip() != f"trocar {version}":
            raise SystemExit(f"the installed trocar is not {version}")
        run(trocar, "--help", cwd=folder)
        print(run(python, "-c", IMPORTS, extras, cwd=folder), end="")
        run(trocar, "demo", cwd=folder)
        if not (folder / "trocar-demo" / "demo.html").exists():
            raise SystemExit("trocar demo wrote no demo.html")
    print(f"trocar {version}: sdist, wheel, extras {extras} and the demo are fine")


if __name__ == "__main__":
    main()
