"""Files of a release agree with pyproject.toml: conda recipe, lock file, paper, issue templates."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tools import lock_file, project, release_check

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "packages" / "trocar" / "pyproject.toml").read_text("utf-8"))["project"]
CONDA = {"matplotlib": "matplotlib-base", "mujoco": "mujoco-python", "pin": "pinocchio"}  # names on conda-forge


def test_the_conda_recipe_has_version_and_dependencies_of_the_package():
    recipe = yaml.safe_load((ROOT / "packaging" / "recipe.yaml").read_text("utf-8"))
    assert recipe["context"]["version"] == PROJECT["version"]
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert entry == f"trocar = {PROJECT['scripts']['trocar']}"
    run = dict(line.split(" ", 1) for line in recipe["requirements"]["run"])
    assert run.pop("python") == PROJECT["requires-python"]
    for line in PROJECT["dependencies"]:
        needs = Requirement(line)
        bounds = {bound.removeprefix("==") for bound in str(needs.specifier).split(",")}
        assert set(run.pop(CONDA.get(needs.name, needs.name)).split(",")) == bounds, line
    assert not run


def test_the_lock_file_satisfies_the_dependencies_of_every_package_and_extra():
    text = lock_file.LOCK.read_text("utf-8")
    pins = lock_file.pins(text)
    assert lock_file.locked(text) == (PROJECT["version"], lock_file.covered())
    for needs in map(Requirement, lock_file.requirements()):
        if needs.marker is None or needs.marker.evaluate():
            assert needs.specifier.contains(pins[needs.name.lower()], prereleases=True), needs
    assert all(re.search(r" --hash=sha256:[0-9a-f]{64}$", line) for line in text.splitlines()[1:])


def test_every_citation_of_the_paper_is_in_its_bibliography():
    text = (ROOT / "paper.md").read_text("utf-8")
    cited = set(re.findall(r"@(\w+)", text.partition("# Summary")[2]))
    listed = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "paper.bib").read_text("utf-8"), re.MULTILINE))
    assert cited == listed
    for section in ("Summary", "Statement of need", "State of the field", "AI usage disclosure", "References"):
        assert f"\n# {section}\n" in text


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md")), ids=lambda p: p.stem)
def test_an_issue_template_has_name_and_purpose(path):
    head = yaml.safe_load(path.read_text("utf-8").split("---\n")[1])
    assert {"name", "about"} <= set(head)


def test_the_interpreter_of_the_tests_is_among_those_that_a_release_is_checked_with():
    assert set(release_check.interpreters()) <= set(release_check.SUPPORTED)
    assert release_check.interpreters()


def test_every_package_states_the_address_of_the_repository_or_none_does():
    assert release_check.urls() in (project.REPOSITORY, "none yet")
