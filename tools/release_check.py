"""Checks a release: `python -m tools.release_check [--extras view,bags] [--python python3.13 ...]`.

Builds sdist and wheel of the three packages and compares their contents with the tracked files. Installs the sdist of
trocar alone in one new environment, and all wheels with the extras of trocar in one for every supported version of
Python on this machine (on the PATH, of pyenv or of uv), all outside the tree, and runs `trocar` there. Prints a line
per check, with the output of those that fail, and the total at the end; exits with 1 if a check fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tools.project import REPOSITORY

ROOT = Path(__file__).parents[1]
VERSIONS = {  # where the version is stated beside pyproject.toml
    "CITATION.cff": r"^version: (\S+)$",
    "CHANGELOG.md": r"^## \[(\d[^\]]*)\]",
    "packages/trocar/src/trocar/__init__.py": r"^__version__ = \"(\S+)\"",
}
PACKAGES = ("trocar", "trocar-learning", "trocar-reproductions")  # in the order in which they need each other
SUPPORTED = ("3.11", "3.12", "3.13")  # versions of Python
# Run in a new environment without extras: every public name is there, or names the extra that it needs.
NAMES = """
import trocar
from trocar.errors import TrocarError
assert "site-packages" in trocar.__file__, trocar.__file__
others = []
for name in dir(trocar):
    try:
        getattr(trocar, name)
    except TrocarError as error:
        if "pip install 'trocar[" not in str(error):
            raise
        others.append(name)
print(len(trocar.__all__), "names", f"({', '.join(others)} name the missing extra)" if others else "")
"""
# Run in a new environment with all extras: every module imports, without ROS. The package rsl-rl-lib is in no extra.
MODULES = """
import importlib, pkgutil, trocar, trocar_learning, trocar_reproductions
from trocar.errors import TrocarError
assert "site-packages" in trocar.__file__, trocar.__file__
roots = (trocar, trocar_learning, trocar_reproductions)
names = [m.name for root in roots for m in pkgutil.walk_packages(root.__path__, root.__name__ + ".")]
others = []
for name in names:
    if name.endswith("__main__"):
        continue
    try:
        importlib.import_module(name)
    except TrocarError as error:
        if "pip install rsl-rl-lib" not in str(error):
            raise
        others.append(name)
print(len(names), "modules", f"({', '.join(others)} names rsl-rl-lib, which is in no extra)" if others else "")
"""
# Run in a new environment: imports a module of every package that an extra asks for.
EXTRA = """
import importlib, importlib.metadata as metadata, re, sys
from packaging.requirements import Requirement
plain = lambda name: re.sub(r"[-_.]+", "-", name).lower()
modules = metadata.packages_distributions()
imported = []
for line in metadata.requires("trocar"):
    needs = Requirement(line)
    if "extra" not in str(needs.marker) or not needs.marker.evaluate({"extra": sys.argv[1]}):
        continue
    metadata.version(needs.name)  # fails where it is not installed
    tops = [k for k, v in modules.items() if plain(needs.name) in map(plain, v) and k.isidentifier() and k[0] != "_"]
    for top in tops[:1]:
        importlib.import_module(top)
    imported += tops[:1] or [f"{needs.name} (no module)"]
print(*imported, sep=", ")
"""


def metadata(package: str = "trocar") -> dict[str, object]:
    """The table `project` of a package's pyproject.toml."""
    return dict(tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text("utf-8"))["project"])


def versions() -> str:
    """The version, if all files that state it agree."""
    versions = {package: str(metadata(package)["version"]) for package in PACKAGES}
    for package in PACKAGES[1:]:
        (needs,) = (line for line in map(str, metadata(package)["dependencies"]) if line.startswith("trocar=="))  # type: ignore[call-overload]
        versions[f"trocar of {package}"] = needs.removeprefix("trocar==")
    for name, pattern in VERSIONS.items():
        match = re.search(pattern, (ROOT / name).read_text("utf-8"), re.MULTILINE)
        versions[name] = match[1] if match else "none"
    if len(set(versions.values())) > 1:
        raise ValueError("versions differ: " + ", ".join(f"{name} {version}" for name, version in versions.items()))
    return versions["trocar"]


def classifiers() -> str:
    """The versions of Python, if the classifiers name the supported ones. The build checks that classifiers exist."""
    listed = metadata()["classifiers"]
    assert isinstance(listed, list)
    named = [text.rsplit(" ", 1)[1] for text in listed if re.search(r":: 3\.\d+$", text)]
    if tuple(named) != SUPPORTED or metadata()["requires-python"] != f">={SUPPORTED[0]}":
        raise ValueError(f"classifiers name Python {named}; requires-python is {metadata()['requires-python']}")
    return "Python " + ", ".join(named)


def urls() -> str:
    """The address of the repository, if every package states it; before it is public, none may."""
    for package in PACKAGES:
        stated = metadata(package).get("urls", {})
        expected = {"Repository": REPOSITORY} if REPOSITORY else {}
        if stated != expected:
            raise ValueError(f"urls of {package} are {stated}, not {expected} (tools/project.py)")
    return REPOSITORY or "none yet"


def citation() -> str:
    """The date of CITATION.cff, if the date and the licence agree with CHANGELOG.md and pyproject.toml."""
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    fields = dict(re.findall(r"^([a-z-]+): *(.*)$", text, re.MULTILINE))
    missing = {"cff-version", "message", "title", "authors", "version", "date-released", "license"} - set(fields)
    if missing:
        raise ValueError(f"CITATION.cff lacks {', '.join(sorted(missing))}")
    released = f"## [{fields['version']}] - {fields['date-released']}"
    if released not in (ROOT / "CHANGELOG.md").read_text("utf-8"):
        raise ValueError(f"CHANGELOG.md has no heading '{released}'")
    if fields["license"] != metadata()["license"]:
        raise ValueError(f"license is {fields['license']} in CITATION.cff, {metadata()['license']} in pyproject.toml")
    return f"{fields['date-released']}, {fields['license']}"


def lock() -> str:
    """The number of pinned distributions, if requirements.lock is of this version and covers everything."""
    from tools import lock_file

    text = lock_file.LOCK.read_text("utf-8")
    if lock_file.locked(text) != (metadata()["version"], lock_file.covered()):
        raise ValueError(f"requirements.lock covers {lock_file.locked(text)}: run make lock")
    return f"{len(lock_file.pins(text))} distributions"


def interpreters() -> dict[str, str]:
    """An interpreter of this machine for each supported version of Python that it has."""
    found = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in SUPPORTED:
        candidates = [sys.executable, f"python{version}", *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))]
        if shutil.which("uv"):
            uv = subprocess.run(["uv", "python", "find", version], capture_output=True, text=True, check=False)
            candidates += uv.stdout.split()
        for candidate in candidates:
            if _version(candidate) == version:
                found[version] = candidate
                break
    return found


def _version(python: str) -> str:
    """Version of an interpreter, "" if it does not run: a shim of pyenv exists for versions that are not selected."""
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        ran = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return ran.stdout.strip()


def tracked(*folders: str) -> set[str]:
    """Files that git tracks, relative to the root."""
    return set(run("git", "ls-files", *folders, cwd=ROOT).split("\n")) - {""}


def wheel_contents(package: str, wheel: Path) -> str:
    """A summary, if the wheel holds the tracked files of the package, data files included, and nothing else."""
    names = set(zipfile.ZipFile(wheel).namelist())
    inside = {f"packages/{package}/src/{name}" for name in names if ".dist-info/" not in name}
    _same(inside, tracked(f"packages/{package}/src"))
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
        raise ValueError("no licence")
    data = [name for name in inside if not name.endswith(".py")]
    return f"{len(inside)} files, {len(data)} of them data, {wheel.stat().st_size / 1e6:.1f} MB"


def sdist_contents(package: str, sdist: Path) -> str:
    """A summary, if the sdist holds the tracked files of the package without its tests, and nothing else."""
    with tarfile.open(sdist) as archive:
        inside = {member.name.split("/", 1)[1] for member in archive.getmembers() if member.isfile()}
    folder = f"packages/{package}/"
    expected = {name.removeprefix(folder) for name in tracked(folder) if not name.startswith(f"{folder}tests/")}
    _same(inside - {"PKG-INFO", ".gitignore"}, expected)
    return f"{len(inside)} files, {sdist.stat().st_size / 1e6:.1f} MB"


def _same(inside: set[str], expected: set[str]) -> None:
    lacking, foreign = sorted(expected - inside), sorted(inside - expected)
    if lacking or foreign:
        raise ValueError(f"{len(lacking)} missing {lacking[:5]}, {len(foreign)} not tracked by git {foreign[:5]}")


def run(*command: str | Path, cwd: Path) -> str:
    """Output of a command, which sees neither this tree nor its data; raises ValueError where it fails."""
    own = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "TROCAR_DATA")
    environment = {name: value for name, value in os.environ.items() if name not in own}
    result = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False, env=environment
    )
    if result.returncode:
        text = " ".join(str(part) if len(str(part)) < 200 else "..." for part in command)
        raise ValueError(f"{text}\n{result.stdout[-4000:]}{result.stderr[-4000:]}exit status {result.returncode}")
    return result.stdout


class Checks:
    """Runs checks and counts them: one line each, with what the check returns and the seconds it took."""

    def __init__(self) -> None:
        self.passed, self.failed = 0, 0

    def __call__(self, name: str, check: Callable[[], str]) -> bool:
        """Run a check; one that raises has failed."""
        print(f"{name:36s} ", end="", flush=True)
        started = time.perf_counter()
        try:
            result = check()
        except Exception as error:
            self.failed += 1
            print("failed", *str(error).rstrip().split("\n"), sep="\n    ", flush=True)
            return False
        self.passed += 1
        print(f"ok {time.perf_counter() - started:6.1f} s  {result}", flush=True)
        return True

    def total(self) -> str:
        """The closing line."""
        return f"{self.passed} passed, {self.failed} failed"


class Environment:
    """A new environment with one distribution installed, and what is run there."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder, self._base = folder, python
        self.python, self.trocar = folder / "venv" / "bin" / "python", folder / "venv" / "bin" / "trocar"

    def install(self, *requirements: str) -> str:
        """Make the environment and install into it; the sizes of what was installed."""
        self.folder.mkdir()
        run(self._base, "-m", "venv", self.folder / "venv", cwd=self.folder)
        run(self.python, "-m", "pip", "install", "-q", *requirements, cwd=self.folder)
        count = len(run(self.python, "-m", "pip", "list", "--format=freeze", cwd=self.folder).split())
        return f"{count} packages, {run(self.python, '--version', cwd=self.folder).strip()}"

    def version(self, requirements: str) -> str:
        """The version that the command states, if it is the requirements one."""
        stated = run(self.trocar, "--version", cwd=self.folder).strip()
        if stated != f"trocar {requirements}":
            raise ValueError(f"{stated!r} instead of 'trocar {requirements}'")
        return stated

    def help(self) -> str:
        """The number of commands, each of which prints its help."""
        listed = "import typer.main, trocar.cli as cli; print(*typer.main.get_command(cli.app).commands)"
        commands = run(self.python, "-c", listed, cwd=self.folder).split()
        for command in ([], *([name] for name in commands)):
            if "Usage: trocar" not in run(self.trocar, *command, "--help", cwd=self.folder):
                raise ValueError(f"trocar {' '.join(command)} --help prints no usage")
        return f"{len(commands)} commands"

    def demo(self) -> str:
        """The closing line of `trocar demo`, if its report is there."""
        printed = run(self.trocar, "demo", cwd=self.folder).strip().split("\n")
        report = self.folder / "trocar-demo" / "demo.html"
        return f"{printed[-1].strip()} ({report.stat().st_size / 1e6:.1f} MB)"

    def evaluated(self, program: str, *arguments: str) -> str:
        """The last line that a program prints; packages may greet before it."""
        return run(self.python, "-c", program, *arguments, cwd=self.folder).strip().rpartition("\n")[2]


def main() -> None:
    extras = metadata()["optional-dependencies"]
    assert isinstance(extras, dict)
    every = ",".join(extras)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--extras",
        default=every,
        help="extras of trocar to install and import (default: all)",
    )
    parser.add_argument("--python", nargs="+", help="interpreters (default: one for every supported version)")
    chosen = parser.parse_args()
    pythons = {_version(name): name for name in chosen.python} if chosen.python else interpreters()
    for version in SUPPORTED:
        print(f"Python {version}: {pythons.get(version, 'not on this machine, not checked')}")
    left_out = [extra for extra in extras if extra not in chosen.extras.split(",")]
    print(f"Extras: {chosen.extras}; left out: {', '.join(left_out) or 'none'}")
    check = Checks()
    check("versions agree", versions)
    check("classifiers", classifiers)
    check("CITATION.cff", citation)
    check("address of the repository", urls)
    check("requirements.lock", lock)
    with tempfile.TemporaryDirectory(prefix="trocar-release-") as temporary:
        folder = Path(temporary)
        if check("build sdists and wheels", lambda: _build(folder)):
            sdists, wheels = ([_built(folder, package, kind) for package in PACKAGES] for kind in (".tar.gz", ".whl"))
            for package, sdist, wheel in zip(PACKAGES, sdists, wheels, strict=True):
                check(f"contents of the sdist of {package}", partial(sdist_contents, package, sdist))
                check(f"contents of the wheel of {package}", partial(wheel_contents, package, wheel))
            first = next(iter(pythons.values()))
            _installed(check, Environment(folder / "sdist", first), "sdist of trocar alone", [str(sdists[0])])
            for version, python in pythons.items():
                whole = Environment(folder / f"wheel-{version}", python)
                name = f"wheels with extras, {version}"
                if _installed(
                    check, whole, name, [f"{wheels[0]}[{chosen.extras}]", *map(str, wheels[1:]), "packaging"]
                ):
                    if chosen.extras == every:
                        check("  import every module", partial(whole.evaluated, MODULES))
                    for extra in chosen.extras.split(","):
                        check(f"  import the extra {extra}", partial(whole.evaluated, EXTRA, extra))
                shutil.rmtree(whole.folder, ignore_errors=True)  # gigabytes with all extras
    print(check.total())
    sys.exit(check.failed > 0)


def _build(folder: Path) -> str:
    for package in PACKAGES:
        run(sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT / "packages" / package, cwd=folder)
    return ", ".join(sorted(path.name for path in (folder / "dist").iterdir()))


def _built(folder: Path, package: str, kind: str) -> Path:
    """The sdist or wheel of a package."""
    (path,) = (folder / "dist").glob(f"{package.replace('-', '_')}-[0-9]*{kind}")
    return path


def _installed(check: Checks, environment: Environment, name: str, requirements: list[str]) -> bool:
    """Check one distribution in its environment."""
    if not check(f"install the {name}", lambda: environment.install(*requirements)):
        return False
    check("  trocar --version", lambda: environment.version(versions()))
    check("  --help of trocar and its commands", environment.help)
    check("  every public name", partial(environment.evaluated, NAMES))
    check("  trocar demo", environment.demo)
    return True


if __name__ == "__main__":
    main()
