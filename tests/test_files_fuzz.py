"""Damaged files of every format: each gives a result or a clear one-line error.

TROCAR_FUZZ=20000 sets the number of cases of each format, TROCAR_FUZZ_SEED selects another series.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mujoco
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from rosbags.rosbag1 import Writer
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

import trocar as tr
import trocar_learning as tl
from tests.support.coppelia_scenes import pendulum
from tests.support.dvrk_model import XACRO, tetrahedron, write_checkout
from tests.support.file_doors import Door, check_damaged, check_sound, episode_door, numbers
from tests.support.hdf5_damage import hdf5_files, read_hdf5
from tests.support.joint_state_bags import BEFORE_CRTK, motion, write_bag
from trocar.appearance.kinematic_model import add_link, kinematic_arm
from trocar.appearance.maker_meshes import replace_shapes
from trocar.arms.instruments import load_endoscope, load_instrument
from trocar.arms.urdf import load_urdf
from trocar.commands.identification.calibrate import read_poses
from trocar.files import read_json
from trocar.identification.excitation.file import load_coefficients
from trocar.identification.identified_file import covariance, residual_rms
from trocar.identification.recipes.recipe import load_recipe
from trocar.recording.bag_file import SENSOR, sensor_topics
from trocar.recording.markers import Markers
from trocar.simulation.objects import ClosedSurface
from trocar.sweep import read_table
from trocar.sweep.results import read_manifest
from trocar_learning.envs.network_policy import NetworkPolicy, load_network
from trocar_learning.episodes.recipe import EpisodeRecipe, read_recipe
from trocar_reproductions.bilateral import jigsaws_master
from trocar_reproductions.ferro2022.scene_file import load_scene_file

DATA = Path(tr.__file__).parent / "arms" / "data"
MODELS = Path(__file__).parents[1] / "models"


def file(*names: str) -> Callable[[], list[bytes]]:
    return lambda: [(DATA / name).read_bytes() for name in names]


def read_urdf(path: Path) -> None:
    """The arm of a file and its equations at home, which must be numbers."""
    arm, parameters = load_urdf(path, tip=None if b"own" in path.read_bytes() else "tip_link")
    mechanism = tr.load_mechanism(arm, parameters)
    mechanism.gravity(arm.home)


TABLE = "\n".join(",".join(f"{x:.4f}" for x in row) for row in np.random.default_rng(1).normal(size=(4, 21))) + "\n"
MARKERS = (
    "t [s],q_pitch [rad],back_x [m],back_y [m],back_z [m],back_qw,back_qx,back_qy,back_qz\n"
    "0.0,0.1,1.0,2.0,3.0,1,0,0,0\n0.1,0.2,1.0,2.0,3.0,0,1,0,0\n0.2,0.3,,,,,,,\n"
)
JIGSAWS = "\n".join(" ".join(f"{x:.6f}" for x in row) for row in np.random.default_rng(2).normal(size=(4, 76))) + "\n"
POSES = "yaw,pitch,insertion,tau_yaw,tau_pitch,tau_insertion\n0,0,0.1,0,0,1\n0.5,0.1,0.2,1,2,3\n"
URDF = """<robot name="own"><link name="base"/><link name="a"><inertial><origin xyz="0 0 0.1" rpy="0 0.1 0"/>
<mass value="1.2"/><inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0.01" ixz="0" iyz="0"/></inertial></link>
<link name="b"/><joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
<dynamics damping="0.1"/><limit lower="-1" upper="1" effort="2" velocity="3"/></joint>
<joint name="k" type="prismatic"><parent link="a"/>
<child link="b"/><mimic joint="j" multiplier="0.1"/><limit lower="0" upper="1" effort="2" velocity="3"/></joint>
</robot>"""
GEOMETRY = """name = "bench"
arm = "{arm}"
frames = "{frames}"
parameters = "{frames}"
source = "a test"
[lengths]
{numbers}
"""
SCENE = """timestep = 0.001
accuracy = "discrete"
contacts = true
[arms.left]
arm = "PSM"
position = [0.0, 0.0, 0.0]
rpy = [0.0, 0.0, 0.5]
parameters = "wang2019"
instrument = "400006"
q = [0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.5]
friction = true
added_mass = 0.0
[[objects]]
name = "pad"
shape = "box"
size = [0.2, 0.2, 0.01]
position = [0.05, 0.4, -0.7]
mass = 0.1
[[objects]]
name = "ball"
shape = "sphere"
radius = 0.01
position = [0.05, 0.8, -0.7]
colour = [0.1, 0.2, 0.3]
[[objects]]
name = "rod"
shape = "capsule"
radius = 0.01
length = 0.1
position = [0.9, 0.8, -0.7]
friction = 0.4
[[objects]]
name = "needle"
shape = "needle"
size = "SH"
position = [0.9, 1.2, -0.7]
[[objects]]
name = "thread"
shape = "thread"
needle = "needle"
length = 0.05
segments = 3
strength = 3.0
knot = true
[[objects]]
name = "tissue"
shape = "tissue"
size = [0.03, 0.02, 0.01]
position = [0.9, 1.6, -0.7]
cells = [2, 1, 1]
mesh = 0.01
fixed = ["-z"]
young = 4e4
strength = 3e4
layers = [[0.005, 1e5]]
boxes = [[0.0, 0.0, 0.0, 0.01, 0.01, 0.01, 5e3]]
vessels = [[0.0, -0.01, 0.0, 0.0, 0.01, 0.0, 0.004, 2e5]]
needle = "needle"
puncture = 0.8
[[objects]]
name = "flap"
shape = "tissue"
size = [0.03, 0.02, 0.01]
position = [0.9301, 1.6, -0.7]
cells = [2, 1, 1]
mesh = 0.01
[[objects]]
name = "seam"
shape = "seam"
first = "tissue"
second = "flap"
strength = 2e4
[[objects]]
name = "scalpel"
shape = "blade"
carrier = "rod"
edge = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.1]]
cuts = ["seam", "tissue"]
"""


def part_of_scene(*names: str) -> bytes:
    """The scene with some of its objects, which takes less time to build."""
    head, *objects = SCENE.split("[[objects]]\n")
    kept = [each for each in objects if re.search('name = "(.*)"', each)[1] in names]  # type: ignore[index]
    assert len(kept) == len(names)
    return "[[objects]]\n".join([head, *kept]).encode()


SCENES = [
    SCENE.encode(),
    part_of_scene("pad", "ball", "rod"),
    *3 * [part_of_scene("ball", "rod")],
    *3 * [part_of_scene("needle", "thread")],
    part_of_scene("needle", "tissue"),
    part_of_scene("rod", "flap", "tissue", "needle", "seam", "scalpel"),
]
EXCITATION = {
    "arm": "ECM",
    "frequency": 0.2,
    "centre": [0.0, 0.0, 0.1, 0.0],
    "a": [[0.1, 0.1, 0.01, 0.1]] * 2,
    "b": [[0.1, 0.1, 0.01, 0.1]] * 2,
}
COVARIANCE = '[covariance]\nnames = ["a", "b"]\nlower_triangle = [\n  [1.0],\n  [0.1, 2.0],\n]\n'

RESIDUALS = '[residuals]\ncolumns = ["yaw", "pitch", "insertion"]\ntrain_rms = [0.03, 0.05, 0.14]\n'

HEADER, TIME = "std_msgs/msg/Header", "builtin_interfaces/msg/Time"


def bag(suffix: str = ".bag") -> list[bytes]:
    """The data file of a ROS 1 or ROS 2 bag with the joint states of an ECM."""
    ros1, kind = suffix == ".bag", "sensor_msgs/msg/JointState"
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
    plugin = StoragePlugin.MCAP if suffix == ".mcap" else StoragePlugin.SQLITE3
    state, header, time = (store.types[name] for name in (kind, HEADER, TIME))
    values = np.array([0.1, 0.2, 0.1, 0.3])
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"sound{suffix}"
        with Writer(path) if ros1 else Writer2(path, version=9, storage_plugin=plugin) as writer:
            connection = writer.add_connection("/ECM/measured_js", kind, typestore=store)
            for k in range(4):
                stamp = header(stamp=time(sec=5 + k, nanosec=0), frame_id="", **({"seq": k} if ros1 else {}))
                joints = ["yaw", "pitch", "insertion", "roll"]
                message = state(header=stamp, name=joints, position=values, velocity=values, effort=values)
                encode = store.serialize_ros1 if ros1 else store.serialize_cdr
                writer.write(connection, 10**9 * (5 + k), encode(message, kind))
        return [(path if ros1 else next(path.glob(f"*{suffix}"))).read_bytes()]


def force_bag() -> list[bytes]:
    """A ROS 1 bag with the joint states of a PSM before CRTK, and a force sensor."""
    stamps, *motions = motion(6)
    with TemporaryDirectory() as folder:
        path, sensors = Path(folder) / "sound.bag", {"force_sensor": np.ones((6, 3))}
        write_bag(path, stamps, *motions, names=("dvrk/PSM2",), topics=BEFORE_CRTK, sensors=sensors)
        return [path.read_bytes()]


def read_forces(path: Path) -> None:
    """The recording of a bag with its force sensor, as `trocar force` reads it; the sensor's readings are numbers."""
    topics = sensor_topics(path)
    recording = tr.load_recording(path, "PSM", sensor=topics[0] if topics else None)
    assert np.isfinite(recording.extra.get(SENSOR, 0.0)).all()


def geometry(arm: str) -> list[bytes]:
    """A geometry file for each published geometry of an arm."""
    found = []
    for frames, lengths in tomllib.loads((DATA / f"{arm.lower()}.toml").read_text())["geometry"].items():
        numbers = "".join(f"{name} = {value}\n" for name, value in lengths.items() if isinstance(value, float))
        found.append(GEOMETRY.format(arm=arm, frames=frames, numbers=numbers).encode())
    return found


def geometry_door(arm: str) -> Door:
    def read(path: Path) -> None:
        mechanism = tr.load_mechanism(arm, path)
        T = mechanism.forward_kinematics(mechanism.arm.home)
        assert np.isfinite(T).all(), f"the tip is at {T}"

    return Door(".toml", lambda: geometry(arm), read)


def efforts(arm: str) -> Callable[[Path], Any]:
    """Efforts and accelerations of the arm at home: finite, or an error."""

    def read(path: Path) -> Any:
        mechanism = tr.load_mechanism(arm, path)
        home = mechanism.arm.home
        speed = np.full(len(home), 0.1)
        tau = mechanism.inverse_dynamics(home, speed, speed, friction=True)
        assert np.isfinite(tau).all(), f"tau is {tau}"

    return read


def simulated(path: Path) -> Any:
    sim = tr.Simulator("PSM", path)
    sim.reset(sim.arm.home)
    sim.step(np.zeros(7))
    assert np.isfinite(sim.q).all(), f"q is {sim.q}"


def instrument(path: Path) -> Any:
    arm = tr.load_arm("PSM", instrument=path)
    assert load_instrument(path, "PSM").joints == arm.joints[3:]


def measured(path: Path) -> Any:
    for array in (found := Markers.load(path)).poses.values():
        assert len(array) == len(found)


def manifest() -> list[bytes]:
    """The manifest of a sweep."""
    with TemporaryDirectory() as folder:
        tr.sweep.run(lambda x: {"y": x}, {"x": [1.0, 2.0]}, folder)
        return [(Path(folder) / "manifest.json").read_bytes()]


def read_as_manifest(path: Path) -> Any:
    return read_manifest(path.rename(path.with_name("manifest.json")).parent)


def learned_policy() -> list[bytes]:
    """A network on the observation of Reach."""
    random = np.random.default_rng(0)
    weights, biases = (random.normal(size=(4, 34)), random.normal(size=(7, 4))), (np.zeros(4), np.zeros(7))
    entries = {"mean": np.zeros(34), "std": np.ones(34), "scale": np.ones(7), "notes": {"steps": 1000}}
    network = NetworkPolicy("Reach", "joint_effort", "state", weights, biases, **entries)  # type: ignore[arg-type]
    with TemporaryDirectory() as folder:
        return [network.save(Path(folder) / "policy.npz").read_bytes()]


def act(path: Path) -> Any:
    policy = load_network(path)
    assert np.isfinite(policy.action(np.full(len(policy.mean), 1e4))).all()


def parameters_of_a_sweep() -> list[bytes]:
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"kp": [1.0, 2.0], "arm": ["PSM", "ECM"], "seed": [1, 2]}), buffer)
    return [buffer.getvalue()]


PARAMETERS = file("parameters/psm_wang2019.toml")
MASTERS = file("parameters/mtm_wang2019.toml")
INSTRUMENTS = file("instruments/LARGE_NEEDLE_DRIVER_400006.toml", "instruments/PERMANENT_CAUTERY_HOOK_400183.toml")
DOORS = {
    "parameters of a PSM": Door(".toml", PARAMETERS, efforts("PSM")),
    "parameters of an MTM": Door(".toml", MASTERS, efforts("MTML")),
    "parameters in the engine": Door(".toml", PARAMETERS, simulated, slow=6),
    "geometry of a PSM": geometry_door("PSM"),
    "geometry of an ECM": geometry_door("ECM"),
    "recipe of a PSM": Door(".toml", file("recipe_psm.toml"), lambda path: load_recipe("PSM", path)),
    "recipe of an MTM": Door(".toml", file("recipe_mtm.toml"), lambda path: load_recipe("MTMR", path)),
    "covariance": Door(".toml", lambda: [COVARIANCE.encode()], covariance),
    "residuals": Door(".toml", lambda: [RESIDUALS.encode()], residual_rms),
    "instrument": Door(".toml", INSTRUMENTS, instrument),
    "endoscope": Door(".toml", file("instruments/up.toml"), lambda path: load_endoscope(path, "ECM")),
    "scene": Door(".toml", lambda: SCENES, tr.load_scene, slow=6),
    "recording as csv": Door(".csv", list, numbers),
    "bag": Door(".bag", bag, lambda path: tr.load_recording(path, "ECM")),
    "bag as mcap": Door(".mcap", lambda: bag(".mcap"), lambda path: tr.load_recording(path, "ECM")),
    "bag as db3": Door(".db3", lambda: bag(".db3"), lambda path: tr.load_recording(path, "ECM")),
    "bag with a force sensor": Door(".bag", force_bag, read_forces),
    "table": Door(".csv", lambda: [TABLE.encode()], numbers),
    "markers": Door(".csv", lambda: [MARKERS.encode()], measured),
    "URDF": Door(".urdf", lambda: [URDF.encode(), (MODELS / "ecm" / "ecm.urdf").read_bytes()], read_urdf),
    "poses": Door(".csv", lambda: [POSES.encode()], read_poses),
    "kinematics of JIGSAWS": Door(".txt", lambda: [JIGSAWS.encode()], jigsaws_master),
    "excitation": Door(
        ".json",
        lambda: [json.dumps(EXCITATION, indent=1).encode()],
        lambda path: load_coefficients(path, tr.load_arm("ECM")),
    ),
    "scene of CoppeliaSim": Door(".ttt", lambda: [pendulum()], load_scene_file),
    "manifest of a sweep": Door(".json", manifest, read_as_manifest),
    "table of a sweep as csv": Door(".csv", lambda: [b"kp,arm,seed\n1.0,PSM,1\n2.0,ECM,2\n"], read_table),
    "table of a sweep as parquet": Door(".parquet", parameters_of_a_sweep, read_table),
}


def description(path: Path) -> Any:
    """A description in a checkout of dvrk_model with one mesh, or a mesh in one with a description.

    It is put on the whole arm once in 30 times, and on its bare links otherwise, which are compiled faster.
    """
    folder, replaced = checkout(path.suffix)
    replaced.unlink()
    replaced.write_bytes(path.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TROCAR_DVRK_MODEL", folder.name)
        if next(DESCRIPTIONS) % 30 == 0:
            kinematic_arm(sketched_psm(), np.zeros(7))[0].compile()
            return
    spec = mujoco.MjSpec()
    spec.add_material(name="cast")
    for body in sketched_psm().bodies:
        add_link(spec, body)
    replace_shapes(spec, sketched_psm(), Path(folder.name))
    spec.compile()


DESCRIPTIONS = itertools.count()


@cache
def checkout(suffix: str) -> tuple[TemporaryDirectory[str], Path]:
    """A checkout of dvrk_model, and its file with this suffix."""
    folder = TemporaryDirectory()
    write_checkout(Path(folder.name))
    (replaced,) = Path(folder.name).rglob(f"*{suffix}")
    return folder, replaced


@cache
def sketched_psm() -> tr.Arm:
    return tr.load_arm("PSM")


DOORS |= {
    "info of LeRobot v3.0": episode_door("lerobot3", "meta/info.json"),
    "list of episodes of LeRobot v3.0": episode_door("lerobot3", "meta/episodes/chunk-000/file-000.parquet", slow=2),
    "frames of LeRobot v3.0": episode_door("lerobot3", "data/chunk-000/file-000.parquet"),
    "list of episodes of LeRobot v2.1": episode_door("lerobot2.1", "meta/episodes.jsonl"),
    "recipe of an unfinished recording": Door(
        ".json",
        lambda: [json.dumps(EpisodeRecipe(task="Reach", count=2).content()).encode()],
        lambda path: read_recipe(read_json(path, "recipe"), str(path)),
    ),
    "episodes as HDF5": Door(".hdf5", hdf5_files, read_hdf5, trusted=True),
    "trial of JIGSAWS": Door(".txt", lambda: [JIGSAWS.encode()], lambda path: tl.load_episodes(path)[0]),
}
DOORS["learned policy"] = Door(".npz", learned_policy, act)
DOORS["description of dvrk_model"] = Door(".xacro", lambda: [XACRO.encode()], description, slow=4)
DOORS["surface of a tissue"] = Door(".stl", lambda: [tetrahedron()], ClosedSurface.load)
DOORS["mesh of dvrk_model"] = Door(".stl", lambda: [tetrahedron()], description, slow=4)


@pytest.mark.parametrize("name", DOORS)
def test_a_damaged_file_gives_a_result_or_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    check_damaged(DOORS[name], name, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", DOORS)
def test_the_sound_files_are_read(tmp_path: Path, name: str) -> None:
    check_sound(DOORS[name], tmp_path)
