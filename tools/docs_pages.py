"""Writes the generated pages of the documentation: `python -m tools.docs_pages [--no-run]`.

docs/generated/commands.md has the help of every command, docs/generated/api/ a page per package with its public names,
docs/generated/gallery/ a page per example with its output and pictures, docs/generated/exercises/ a page per exercise
with its solution, docs/generated/static/ scenes as single HTML files. Examples run in build/gallery, each in its own
folder; an example is not run again unless it or the package's source has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import trocar
from tools import exercises
from trocar.files import write_whole

ROOT = Path(__file__).parents[1]
PAGES, RUNS = ROOT / "docs" / "generated", ROOT / "build" / "gallery"
PRIVATE = {"cli", "commands", "toml_file", "palette", "demo", "bench"}  # not meant to be imported by scripts
TIMEOUT = 600  # longest run of an example [s]
NAMES = {"ecm": "ECM", "psm": "PSM", "dvrk": "dVRK"}  # words of titles that have their own spelling
PICTURES = (".png", ".jpg", ".svg", ".gif")


def packages() -> list[ModuleType]:
    """The public packages and modules, `trocar` itself first."""
    names = sorted(m.name for m in pkgutil.iter_modules(trocar.__path__) if m.name not in PRIVATE | {"__main__"})
    learning = ("trocar_learning.contest", "trocar_learning.envs", "trocar_learning.episodes")
    return [trocar, *(importlib.import_module(name) for name in (*(f"trocar.{name}" for name in names), *learning))]


def api_page(module: ModuleType) -> str:
    """Markdown page of one package: its docstring and every public name.

    Names that another package defines and offers are listed; they are documented there.
    """
    names = getattr(module, "__all__", None)
    if names is None:
        body = f".. automodule:: {module.__name__}\n   :members:\n"
        return f"# {module.__name__}\n\n```{{eval-rst}}\n{body}```\n"
    homes = _homes() if module is trocar else _defined_elsewhere(module)
    body, listed = f".. automodule:: {module.__name__}\n   :no-members:\n\n", ""
    for name in names:
        thing = getattr(module, name)
        if isinstance(thing, ModuleType) and module is trocar:
            listed += f"- [`{name}`]({thing.__name__}.md): {(thing.__doc__ or '').strip().splitlines()[0]}\n"
        elif isinstance(thing, ModuleType):
            body += f".. automodule:: {thing.__name__}\n   :members:\n\n"
        elif name in homes:
            home = homes[name]
            summary = (thing.__doc__ or "").strip().splitlines()[0] if callable(thing) else "constant"
            listed += f"- [`{name}`]({home}.md): {summary}\n"
        elif not str(getattr(thing, "__module__", "")).startswith("trocar"):  # an alias, a constant
            text = repr(thing)
            body += f"``{name}``\n   ``{text if len(text) < 400 else text[:400] + ' ...'}``\n\n"
        elif isinstance(thing, type):
            kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
            body += f".. {kind}:: {module.__name__}.{name}\n   :members:\n   :inherited-members: {_bases(thing)}\n"
            own = any(base.__module__.startswith("trocar") for base in thing.__bases__)
            body += "   :show-inheritance:\n\n" if own else "\n"
        else:
            body += f".. autofunction:: {module.__name__}.{name}\n\n"
    return f"# {module.__name__}\n\n{listed}\n```{{eval-rst}}\n{body}```\n"


def _homes() -> dict[str, str]:
    """The package that documents each name that several packages offer."""
    return {name: module.__name__ for module in packages()[1:] for name in getattr(module, "__all__", ())}


def _defined_elsewhere(module: ModuleType) -> dict[str, str]:
    """The packages that define names of a package and offer them too."""
    homes = {}
    for name in module.__all__:
        home = ".".join(str(getattr(getattr(module, name), "__module__", "")).split(".")[:2])
        other = home.startswith("trocar.") and home != module.__name__
        if other and name in getattr(importlib.import_module(home), "__all__", ()):
            homes[name] = home
    return homes


def _bases(kind: type) -> str:
    """Base classes whose members are not listed: those of Python, NumPy and other libraries."""
    foreign = {base.__name__ for base in kind.__mro__[1:] if not base.__module__.startswith("trocar")}
    return ",".join(sorted(foreign)) or "object"


def command_page() -> str:
    """Markdown page with the help of every command, as a terminal of 80 columns shows it."""
    width = {**os.environ, "COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}

    def shown(*arguments: str) -> str:
        result = subprocess.run(
            [sys.executable, "-m", "trocar", *arguments, "--help"],
            capture_output=True,
            text=True,
            env=width,
            check=True,
        )
        return re.sub(r"[ \t]+$", "", result.stdout, flags=re.MULTILINE).strip("\n")

    from typer.main import get_command

    from trocar.cli import app

    commands = sorted(getattr(get_command(app), "commands", {}))
    parts = ["# Commands\n", f"```text\n{shown()}\n```\n"]
    parts += [f"## trocar {name}\n\n```text\n{shown(name)}\n```\n" for name in commands]
    return "\n".join(parts)


def gallery(run: bool) -> dict[str, str]:
    """Pages of the examples by name, and their index; with `run`, output and pictures too."""
    pages, cards = {}, []
    scripts = sorted((ROOT / "examples").glob("[0-9]*.py"))
    for number, script in enumerate(scripts, start=1):
        name, text = script.stem, script.read_text("utf-8")
        words = [NAMES.get(word, word) for word in name[3:].split("_")]
        title = " ".join([NAMES.get(words[0].lower(), words[0].capitalize()), *words[1:]])
        summary = text.split('"""')[1].strip().splitlines()[0]
        folder = _outputs(script, text, f"{number}/{len(scripts)}") if run else None
        body = f"# {title}\n\n{summary}\n\n"
        pictures = sorted(p for p in folder.iterdir() if p.suffix in PICTURES) if folder else []
        body += "".join(f"![{p.stem}](../output/{name}/{p.name})\n\n" for p in pictures)
        body += f"```{{literalinclude}} ../../../examples/{script.name}\n:language: python\n```\n"
        if folder and (printed := (folder / "stdout.txt").read_text("utf-8").strip()):
            body += f"\nOutput:\n\n```text\n{printed}\n```\n"
        pages[name] = body
        picture = f"../output/{name}/{pictures[0].name}" if pictures else f"../../images/{SUBJECTS.get(name, SUBJECT)}"
        cards.append(f":::{{container}} card\n[{title}]({name}.md)\n\n{summary}\n\n![{name}]({picture})\n:::\n")
    toc = "```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"
    links = "".join(f'<li><a href="../../{name}">{about}</a></li>' for name, about in STATIC.items())
    use = "With these short programs, shown with their output, you can start your own."
    static = f"{use}\n\nWithout installing anything, turn and watch in your browser:\n\n<ul>{links}</ul>\n\n"
    pages["index"] = f"# Gallery of examples\n\n{static}::::{{container}} gallery\n" + "".join(cards) + "::::\n\n" + toc
    return pages


# Pictures, in docs/images, on the cards of examples that draw none: the arm or scene that the example is about.
SUBJECT = "psm.png"
SUBJECTS = {
    "03_inverse_kinematics": "psm_tip.png",
    "08_trajectories": "psm_tip.png",
    "09_plan_around_a_box": "scene_instruments.png",
    "11_ecm": "ecm.png",
    "12_masters": "mtmr.png",
    "13_cartesian_control": "psm_tip.png",
    "18_excite": "ecm.png",
    "20_gravity_compensation": "psm_si.png",
    "21_export": "cart_classic.png",
    "28_measured_force": "psm_tip.png",
    "29_whole_dvrk": "viewer_scene.jpg",
    "30_what_goes_wrong": "psm_si.png",
    "31_many_arms": "batch_rate.png",
    "38_task": "tasks/Reach.webp",
}
STATIC = {"psm_recording.html": "a PSM that follows a sinusoid", "cart_classic.html": "three PSMs and the ECM"}


def static_pages(run: bool) -> dict[str, str]:
    """Pages of STATIC, which need no server, by file name; without `run`, a line of text in place of the scene."""
    if not run:
        return dict.fromkeys(STATIC, "<p>Built without running.</p>")
    import numpy as np

    from trocar.control.trajectories import sinusoid
    from trocar.robot.track import Track
    from trocar.view.static_page import recording_page, scene_page

    sim = trocar.Simulator("PSM")
    centre, way = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.3]), np.array([0.4, 0.3, 0.04, 0.5, 0.3, 0.3, 0.2])
    reference = sinusoid(centre, way, 0.5)
    sim.reset(reference(0.0).q, reference(0.0).dq)
    law = trocar.ComputedTorque(sim.mechanism, kp=400.0, kd=40.0, friction=True)
    moved, cart = Track(trocar.simulate(sim, law, reference, 4.0), "sinusoid"), trocar.load_scene("cart_classic")
    return dict(zip(STATIC, (recording_page(moved), scene_page(cart, "The Classic cart")), strict=True))


def _outputs(script: Path, text: str, place: str) -> Path:
    """Folder with the output and the pictures of an example; runs the example if it does not exist yet."""
    source = b"".join(p.read_bytes() for p in sorted((ROOT / "src").rglob("*.py")))
    key = hashlib.sha256(text.encode() + source).hexdigest()
    folder, output = RUNS / script.stem, PAGES / "output" / script.stem
    if not (folder / "key").exists() or (folder / "key").read_text() != key:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        print(f"[{place}] running {script.name}", flush=True)
        result = subprocess.run(
            [sys.executable, script], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        if result.returncode:
            raise SystemExit(f"{script.name} failed:\n{result.stderr}")
        write_whole(folder / "stdout.txt", result.stdout.replace(str(folder) + os.sep, ""))
        write_whole(folder / "key", key)
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    for made_file in folder.rglob("*"):
        if made_file.suffix in PICTURES or made_file.name == "stdout.txt":
            shutil.copy(made_file, output / made_file.name)
    return output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-run", action="store_true", help="show the examples without running them")
    run = not parser.parse_args().no_run
    (PAGES / "api").mkdir(parents=True, exist_ok=True)
    (PAGES / "gallery").mkdir(exist_ok=True)
    modules = packages()
    for module in modules:
        write_whole(PAGES / "api" / f"{module.__name__}.md", api_page(module))
    listed = "\n".join(module.__name__ for module in modules)
    write_whole(PAGES / "api" / "index.md", f"# API\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n")
    write_whole(PAGES / "commands.md", command_page())
    for name, text in gallery(run).items():
        write_whole(PAGES / "gallery" / f"{name}.md", text)
    for name, text in exercises.pages(run).items():
        write_whole(PAGES / "exercises" / f"{name}.md", text)
    for name, text in static_pages(run).items():
        write_whole(PAGES / "static" / name, text)


if __name__ == "__main__":
    main()
