"""Bags with the joint states of a PSM, written by the package rosbags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

import trocar as tr
from trocar.spatial import Array

KIND = "sensor_msgs/msg/JointState"
WRENCH = "geometry_msgs/msg/WrenchStamped"
MEASURED = ("measured_js", "jaw/measured_js")  # topics of an arm and its jaw
BEFORE_CRTK = ("state_joint_current", "state_jaw_current")
START = 1_700_000_000 * 10**9  # [ns]
JAW_LATER = 1_300_000  # delay of the states of the jaw after those of the arm [ns]


def motion(rows: int = 300, interval: int = 5_000_000, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Stamps (N,) [ns] that jitter, and q, dq, tau (N, 7) of a PSM: the model's effort, with noise and a payload."""
    generator = np.random.default_rng(seed)
    stamps = START + interval * np.arange(rows) + generator.integers(-interval // 5, interval // 5, rows)
    mechanism = tr.load_mechanism("PSM")
    t = 1e-9 * (stamps - START)[:, None]
    rate, size = np.linspace(2.0, 6.0, 7), np.array([0.4, 0.3, 0.03, 0.3, 0.3, 0.3, 0.2])
    q = np.array([0.1, 0.0, 0.12, 0.0, 0.0, 0.0, 0.5]) + size * np.sin(rate * t)
    dq, ddq = size * rate * np.cos(rate * t), -size * rate**2 * np.sin(rate * t)
    tau = mechanism.inverse_dynamics(q, dq, ddq, friction=True) + mechanism.effort_bias
    tau[:, 1] += 0.3
    return stamps, q, dq + generator.normal(0, 1e-3, dq.shape), tau + generator.normal(0, 1e-2, tau.shape)


def write_bag(
    path: Path,
    stamps: Array,
    q: Array,
    dq: Array,
    tau: Array,
    names: Sequence[str] = ("PSM1",),
    topics: tuple[str, str] = MEASURED,
    sensors: Mapping[str, Array] | None = None,
    sensor_stamps: Array | None = None,
) -> Path:
    """A .bag, .mcap or .db3 (the last two as folders) with joint states of every named arm and its jaw.

    sensors: forces (N, 3) [N] by topic, at the stamps of the joints or at others.
    """
    ros1 = path.suffix == ".bag"
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
    Header, Time, State = (
        store.types[f"{name}"] for name in ("std_msgs/msg/Header", "builtin_interfaces/msg/Time", KIND)
    )
    Stamped, Wrench, Vector = (
        store.types[f"geometry_msgs/msg/{name}"] for name in ("WrenchStamped", "Wrench", "Vector3")
    )
    joints = tr.load_arm("PSM").joint_names
    plugin = StoragePlugin.MCAP if path.suffix == ".mcap" else StoragePlugin.SQLITE3
    with Writer1(path) if ros1 else Writer2(path, version=9, storage_plugin=plugin) as writer:
        for name in names:
            arm, jaw = (writer.add_connection(f"/{name}/{topic}", KIND, typestore=store) for topic in topics)
            for k, stamp in enumerate(stamps.tolist()):
                for topic, columns, when in ((arm, slice(0, 6), stamp), (jaw, slice(6, 7), stamp + JAW_LATER)):
                    time = Time(sec=when // 10**9, nanosec=when % 10**9)
                    header = Header(stamp=time, frame_id="", **({"seq": k} if ros1 else {}))
                    values = (np.ascontiguousarray(x[k, columns]) for x in (q, dq, tau))
                    position, velocity, effort = values
                    message = State(
                        header=header, name=list(joints[columns]), position=position, velocity=velocity, effort=effort
                    )
                    raw = (store.serialize_ros1 if ros1 else store.serialize_cdr)(message, KIND)
                    writer.write(topic, when, raw)
        for name, forces in (sensors or {}).items():
            connection = writer.add_connection(f"/{name}", WRENCH, typestore=store)
            for k, stamp in enumerate((stamps if sensor_stamps is None else sensor_stamps).tolist()):
                time = Time(sec=stamp // 10**9, nanosec=stamp % 10**9)
                header = Header(stamp=time, frame_id="", **({"seq": k} if ros1 else {}))
                force, torque = (Vector(x=float(x), y=float(y), z=float(z)) for x, y, z in (forces[k], np.zeros(3)))
                message = Stamped(header=header, wrench=Wrench(force=force, torque=torque))
                raw = (store.serialize_ros1 if ros1 else store.serialize_cdr)(message, WRENCH)
                writer.write(connection, stamp, raw)
    return path
