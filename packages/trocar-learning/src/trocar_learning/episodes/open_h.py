"""Documents of Open-H and GR00T-H in a LeRobot data set: meta/README.md and meta/modality.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trocar.files import Json, write_whole
from trocar_learning.envs.world import RATE
from trocar_learning.episodes import features as f
from trocar_learning.episodes.data_set import DataSet
from trocar_learning.episodes.lerobot_tables import json_text

RECORDED = (
    "{count} recordings of a robot or of teleoperation, converted by trocar. Success was not measured: the data set "
    "does not state it, and all episodes are in the splits of demonstrations."
)
SIMULATED = ", simulated with closed chain, friction, motors and controllers"
METHODS = {"expert": "Programmatic/State-Machine", "pid": "Programmatic/State-Machine", "person": "Human Teleoperation"}
COLLECTION = ("Human Teleoperation", "Programmatic/State-Machine", "AI Policy / Autonomous", "Other")
DATA_TYPES = ("Clinical", "Ex-Vivo", "Table-Top Phantom", "Digital Simulation", "Physical Simulation", "Other")
DIVERSITY: tuple[str, ...] = (
    "Camera Position / Angle",
    "Lighting Conditions",
    "Target Object",
    "Spatial Layout",
    "Robot Embodiment",
)
DIVERSITY += ("Task Execution", "Background / Scene", "Other")


def write_metadata(data: DataSet, features: Mapping[str, Json], fps: int, instruction: str) -> None:
    """Write both documents."""
    write_whole(data.folder / "meta" / "README.md", readme(data, features, fps, instruction))
    write_whole(data.folder / "meta" / "modality.json", json_text(modality(features)))


def modality(features: Mapping[str, Json]) -> Json:
    """GR00T's modality.json: slices of state and action, films and the instruction."""
    names, start = features[f.STATE]["names"], 0
    parts: dict[str, tuple[int, int, str | None]] = {}
    arms = dict.fromkeys(name.partition("_")[0] for name in names)
    for arm in arms:
        parts[f"{arm}_pose"] = (start, start + len(f.POSE), "quaternion")
        start += len(f.POSE)
        if f"{arm}_jaw" in names:
            parts[f"{arm}_gripper"] = (start, start + 1, None)
            start += 1
    films = {name: f"endoscope_{name.rpartition('.')[2]}" for name in features if name.startswith(f.IMAGES)}
    return {
        "state": {name: _slice(f.STATE, *part) for name, part in parts.items()},
        "action": {name: _slice(f.ACTION, *part) for name, part in parts.items()},
        "video": {short: {"original_key": name} for name, short in films.items()},
        "annotation": {"human.task_description": {"original_key": "task_index"}},
    }


def _slice(key: str, start: int, end: int, rotation: str | None) -> Json:
    entry: Json = {"start": start, "end": end, "rotation_type": rotation, "absolute": True}
    return entry | {"dtype": "float32", "range": None, "original_key": key}


def readme(data: DataSet, features: Mapping[str, Json], fps: int, instruction: str) -> str:
    """Open-H's form, version 1.0, filled in."""
    recipe, count = data.recipe, len(data.outcomes)
    groups = {group: sum(outcome.group == group for outcome in data.outcomes) for group in ("recovery", "failure")}
    recovery, recorded = groups["recovery"] > 0, recipe.level == "recorded"
    data_type = "Other" if recorded else "Digital Simulation"
    varied = {"Spatial Layout"} | ({"Robot Embodiment"} if recipe.level != "nominal" else set())
    width, height = recipe.size or (0, 0)
    camera = f"Simulated stereo endoscope, {width}x{height} @ {fps} fps" if recipe.size else "none"
    person = recipe.policy == "person"
    operators = ("`[Count]`", "`[Level]`") if person else ("0 (scripted)", "`[x] N/A`")
    forces = "none" if recorded else f"true wrenches of the simulation: {f.TIP_WRENCH}, {f.TROCAR_WRENCH}"
    sections = [
        f"# trocar {recipe.task} - README",
        "## At a Glance",
        f"{'Recorded' if recorded else 'Simulated'} episodes of a da Vinci Research Kit: {instruction}.",
        "## Dataset Overview",
        RECORDED.format(count=count)
        if recorded
        else f"{count} episodes of the policy '{recipe.policy_name}' in the task `{recipe.task}` of trocar, a dynamic "
        f"simulator of the dVRK, at the level of randomisation '{recipe.level}', with true contact forces. "
        f"{groups['recovery']} episodes begin after a disturbance, {groups['failure']} failed; both are splits.",
        _table(
            ("Total Trajectories", str(count)),
            ("Total Hours", f"{data.frames / fps / 3600:.3f}"),
            ("Data Type", " ".join(f"`[{_mark(kind == data_type)}] {kind}`" for kind in DATA_TYPES)),
            ("License", "`[License]`" if recorded else "CC BY 4.0"),
            ("Version", "1.0"),
        ),
        "## Tasks & Domain",
        "### Domain",
        _boxes(("Surgical Robotics", "Ultrasound Robotics", "Other Healthcare Robotics"), {"Surgical Robotics"}),
        "### Demonstrated Skills",
        f"- {instruction}",
        "## Data Collection Details",
        "### Collection Method",
        _boxes(COLLECTION, {METHODS.get(recipe.policy, "AI Policy / Autonomous")}),
        "### Operator Details",
        _table(
            ("Operator Count", operators[0]),
            ("Operator Skill Level", operators[1]),
            *(() if recorded else (("Seeds", _seeds(recipe)),)),
        ),
        "### Recovery Demonstrations",
        _boxes(("Yes", "No"), {"Yes"} if recovery else {"No"}),
        "Each recovery begins after a random action of 0.1 to 0.3 s, which is not part of the episode." * recovery,
        "## Diversity Dimensions",
        _boxes(DIVERSITY, set() if recorded else varied),
        ""
        if recorded
        else "Start, goal and objects are drawn from the seed of each episode; above the nominal level also the "
        "dynamic parameters, friction, delay and sensors of the robot.",
        "## Equipment & Setup",
        "### Robotic Platform(s)",
        f"- **Robot 1:** dVRK (da Vinci Research Kit){'' if recorded else SIMULATED}",
        "### Sensors & Cameras",
        _table(
            ("Primary Camera", camera),
            ("Force/Torque Sensor", forces),
        ),
        "## Action & State Space Representation",
        _boxes(("Absolute Cartesian", "Relative Cartesian", "Joint Space"), {"Absolute Cartesian"}),
        _boxes(("Quaternions (x, y, z, w)", "Euler Angles"), {"Quaternions (x, y, z, w)"}),
        _boxes(
            ("Robot Base Frame", "World/Global Frame", "Camera Frame"),
            {"Robot Base Frame" if recorded else "World/Global Frame"},
        ),
        *(_feature(name, feature) for name, feature in features.items()),
        "## Data Synchronization Approach",
        f"{_synchronisation(fps, recorded)} timestamp = frame_index / {fps} s exactly. Observations precede the action "
        "of the same frame.",
        "## Attribution & Contact",
        _table(("Dataset Lead", "`[Name]`"), ("Institution", "`[Your Institution]`"), ("Contact Email", "`[Email]`")),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _synchronisation(fps: int, recorded: bool) -> str:
    if recorded:
        return "All signals are interpolated linearly at the times of the frames, by the stamps of their messages;"
    if fps == RATE:
        return "All signals of a frame are read from one simulated instant;"
    return (
        f"All signals are read at {RATE} Hz, each time in one simulated instant. The numbers of a frame are "
        "interpolated linearly, its pictures are those of the nearest instant, at most 10 ms away;"
    )


def _seeds(recipe: Any) -> str:
    return f"{recipe.seed} to {recipe.seed + recipe.count - 1}"


def _feature(name: str, feature: Json) -> str:
    info = feature.get("info") or {}
    text = "; ".join(str(info[key]) for key in ("what", "units", "frame") if info.get(key))
    names = ", ".join(feature["names"] or ())
    return f"```\n{name}: [{names}]\n{text}\n```" if text and len(names) < 2000 else ""


def _mark(checked: bool) -> str:
    return "x" if checked else " "


def _boxes(options: tuple[str, ...], checked: set[str]) -> str:
    return "\n".join(f"- [{_mark(option in checked)}] **{option}**" for option in options)


def _table(*rows: tuple[str, str]) -> str:
    return "\n".join(["| | |", "| :--- | :--- |", *(f"| **{name}** | {value} |" for name, value in rows)])
