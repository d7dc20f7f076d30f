"""A small reader of AMBF's description files, which builds the frames of joints as AMBF's afFramework.cpp does."""

from pathlib import Path

import numpy as np
import yaml
from scipy.spatial.transform import Rotation


def vector(entry):
    return np.array([entry["x"], entry["y"], entry["z"]])


def transform(entry):
    """Pose (4, 4) of a position and roll, pitch, yaw about fixed axes."""
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler("xyz", [entry["orientation"][key] for key in "rpy"]).as_matrix()
    T[:3, 3] = vector(entry["position"])
    return T


def shortest(a, b):
    """AMBF's getRotBetweenVectors, with its thresholds."""
    angle = np.arccos(np.clip(a @ b, -1.0, 1.0))
    if angle < 0.1:
        return np.eye(3)
    assert angle < 3.13, "AMBF takes this angle for pi"
    axis = np.cross(a, b)
    return Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()


class AdfModel:
    """The model of a file. Attributes: content, bodies and joints by name, principal (pose of each inertial frame)."""

    def __init__(self, path):
        self.path = Path(path)
        self.content = yaml.safe_load(self.path.read_text())
        self.bodies = {name: self.content[name] for name in self.content["bodies"]}
        self.joints = {self.content[name]["name"]: self.content[name] for name in self.content["joints"]}
        self.principal = {name: transform(body["inertial offset"]) for name, body in self.bodies.items()}

    def poses(self, values):
        """Pose of every body in the base for joint values by name, along the tree of its joints."""
        T = {"BODY base_link": np.eye(4)}
        waiting = [joint for joint in self.joints.values() if joint["type"] != "p2p"]
        while waiting:
            joint = next(joint for joint in waiting if joint["parent"] in T)
            waiting.remove(joint)
            T[joint["child"]] = T[joint["parent"]] @ self.step(joint, values.get(joint["name"], 0.0))
        return T

    def step(self, joint, value):
        """Pose of the child in its parent: Bullet's constraint frames on both bodies, in their inertial frames."""
        offsets = [np.linalg.inv(self.principal[joint[end]]) for end in ("parent", "child")]
        (pivot_a, axis_a), (pivot_b, axis_b) = (
            ((T @ [*vector(joint[f"{end} pivot"]), 1.0])[:3], T[:3, :3] @ vector(joint[f"{end} axis"]))
            for T, end in zip(offsets, ("parent", "child"), strict=True)
        )
        default = np.array([1.0, 0.0, 0.0] if joint["type"] == "prismatic" else [0.0, 0.0, 1.0])
        J = shortest(default, axis_a)
        np.testing.assert_allclose(J @ default, axis_a, atol=1e-6)  # the constraint's axis is the joint's
        turn = Rotation.from_rotvec(joint["offset"] * axis_a).as_matrix()
        A, B = np.eye(4), np.eye(4)
        A[:3, :3], A[:3, 3] = J, pivot_a
        B[:3, :3], B[:3, 3] = shortest(axis_b, axis_a).T @ turn.T @ J, pivot_b
        moved = np.eye(4)
        if joint["type"] == "revolute":
            moved[:3, :3] = Rotation.from_rotvec(value * default).as_matrix()
        elif joint["type"] == "prismatic":
            moved[:3, 3] = value * default
        T = A @ moved @ np.linalg.inv(B)  # of the inertial frames
        return self.principal[joint["parent"]] @ T @ np.linalg.inv(self.principal[joint["child"]])

    def inertia(self, body):
        """Mass, centre of mass (3,) and inertia tensor (3, 3) about it in the axes of a body."""
        entry, T = self.bodies[body], self.principal[body]
        R = T[:3, :3]
        return entry["mass"], T[:3, 3], R @ np.diag([entry["inertia"][f"i{axis}"] for axis in "xyz"]) @ R.T
