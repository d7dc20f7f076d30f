"""The rules of mujoco_menagerie (its CONTRIBUTING.md, pull request template and model_test.py), one test each.

A model folder of this repository can be submitted there as it is, with the files that only other formats need left out.
"""

import re
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pytest

from tests.support.model_folders import MODELS

FOLDERS = sorted(path for path in MODELS.iterdir() if path.is_dir())
pytestmark = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
MAX_WIDTH = 120


def model_file(folder):
    return folder / f"{folder.name}.xml"


def root(folder):
    return ElementTree.parse(model_file(folder)).getroot()


def test_the_folder_has_model_scene_picture_licence_readme_and_changelog(folder):
    names = {path.name for path in folder.iterdir()}
    wanted = {f"{folder.name}.xml", "scene.xml", f"{folder.name}.png", "LICENSE", "README.md", "CHANGELOG.md", "assets"}
    assert wanted <= names


def test_the_licence_is_approved_by_the_osi(folder):
    assert "Apache License, Version 2.0" in (folder / "LICENSE").read_text()


def test_the_readme_derives_the_model_in_numbered_steps(folder):
    text = (folder / "README.md").read_text()
    assert f"({folder.name}.png)" in text
    steps = text.partition("## How ")[2].partition("\n## ")[0]
    assert re.findall(r"^(\d)\. ", steps, re.MULTILINE)[:6] == list("123456")


def test_the_changelog_is_of_this_model_and_dated(folder):
    text = (folder / "CHANGELOG.md").read_text()
    assert re.search(r"^- \d{4}-\d{2}: ", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["model", "scene"])
def test_the_xml_has_two_spaces_and_120_columns(folder, name):
    """Style of its formatter: no space before an empty element's end; an attribute is never broken."""
    text = (model_file(folder) if name == "model" else folder / "scene.xml").read_text()
    lines = text.splitlines()
    assert "\t" not in text
    assert " />" not in text
    assert not any(line != line.rstrip() for line in lines)
    assert all((len(line) - len(line.lstrip())) % 2 == 0 for line in lines)
    comments = ("<!--", "<?xml")
    long = [line for line in lines if len(line) > MAX_WIDTH and not line.startswith(comments)]
    assert all(line.count('="') == 1 for line in long), long


def test_elements_are_indented_by_their_depth(folder):
    """Every opening tag, with the tree as its own reader sees it."""
    expected = []

    def walk(element, depth):
        expected.append((element.tag, 2 * depth))
        for child in element:
            walk(child, depth + 1)

    walk(root(folder), 0)
    written = re.findall(r"^( *)<(\w+)", model_file(folder).read_text(), re.MULTILINE)
    assert [(tag, len(spaces)) for spaces, tag in written] == expected


def test_definitions_come_before_the_tree_and_actuators_after(folder):
    order = [element.tag for element in root(folder)]
    tree = order.index("worldbody")
    assert {"compiler", "default", "asset"} <= set(order[:tree])
    assert {"equality", "actuator", "keyframe"} <= set(order[tree:])


def test_default_classes_carry_what_repeats(folder):
    """One class of the model with `visual` and `collision` inside; no geom of the tree repeats their attributes."""
    document = root(folder)
    (top,) = document.findall("default/default")
    assert top.get("class") == folder.name
    assert {"visual", "collision"} <= {element.get("class") for element in top.findall("default")}
    assert document.find("worldbody/body").get("childclass") == folder.name
    geoms = list(document.find("worldbody").iter("geom"))
    assert all(geom.get("class") for geom in geoms)
    assert not any(geom.get(name) for geom in geoms for name in ("group", "mass", "rgba"))


def test_the_scene_includes_the_model_which_has_neither_light_nor_floor(folder):
    scene = ElementTree.parse(folder / "scene.xml").getroot()
    assert [element.get("file") for element in scene.iter("include")] == [f"{folder.name}.xml"]
    document = root(folder)
    assert not list(document.iter("light"))
    assert not [geom for geom in document.iter("geom") if geom.get("type") == "plane"]


def test_every_motor_has_a_range_and_the_model_a_home(folder):
    document = root(folder)
    assert all(element.get("ctrlrange") for element in document.find("actuator"))
    assert document.find("keyframe/key").get("name") == "home"


def test_the_folder_is_small(folder):
    """Without the picture; the largest models there have tens of megabytes."""
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 2.5e6


def test_a_second_of_random_control_gives_no_warning_and_keeps_the_loops_closed(folder):
    """As its model_test.py: controls from a Halton sequence over the full range. Nothing is changed after loading."""
    model = mujoco.MjModel.from_xml_path(str(folder / "scene.xml"))
    data = mujoco.MjData(model)
    loops = np.flatnonzero(model.eq_type == mujoco.mjtEq.mjEQ_CONNECT)
    low, high = model.actuator_ctrlrange.T
    gap, i = 0.0, 0
    while data.time < 1.0:
        noise = np.array([2.0 * mujoco.mju_Halton(i, j + 2) - 1.0 for j in range(model.nu)])
        data.ctrl[:] = 0.5 * (high + low) + 0.5 * (high - low) * noise
        mujoco.mj_step(model, data)
        i += 1
        mujoco.mj_kinematics(model, data)
        ends = data.site_xpos[model.eq_obj1id[loops]] - data.site_xpos[model.eq_obj2id[loops]]
        gap = max(gap, float(np.linalg.norm(ends, axis=1).max(initial=0.0)))
    assert not any(warning.number for warning in data.warning)
    assert gap < (2e-3 if "cart" in folder.name else 3e-5)  # as the README states; arms of a cart collide
    assert "has to be changed after loading" in (folder / "README.md").read_text()
