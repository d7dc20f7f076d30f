"""Instruments and endoscopes: what is mounted on the insertion carriage, as data files describe it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trocar.arms.arm import Body, Joint, revolute
from trocar.arms.tables import HALF_PI, read
from trocar.errors import UnknownName
from trocar.spatial import Array, mdh, pose, rotation

# Trajectory limits of the dVRK's arm class for the four instrument joints [rad/s, rad/s^2].
WRIST_VELOCITY, WRIST_ACCELERATION = np.radians(1080.0), np.radians(720.0)

WRIST_JOINTS = ("roll", "wrist_pitch", "wrist_yaw", "jaw")


@dataclass(frozen=True, kw_only=True)
class Instrument:
    """A wristed instrument of a PSM.

    Attributes:
        d_roll: insertion frame to the wrist pitch axis along the shaft [m].
        a_wrist: wrist pitch axis to wrist yaw axis [m]; the dVRK's tip is on the yaw axis.
        coupling: (4, 4), `q = coupling @ q_motor` for roll, wrist_pitch, wrist_yaw, jaw.
        T_yaw_tip: tip in the wrist yaw frame. jaw_length: yaw axis to jaw end [m].
    """

    name: str
    d_roll: float
    a_wrist: float
    joints: tuple[Joint, ...]
    coupling: Array
    T_yaw_tip: Array
    jaw_length: float
    source: str

    def chain(self, parent: str, T_parent_insertion: Array) -> tuple[Body, ...]:
        """Roll, wrist pitch and wrist yaw bodies below `parent`, which carries the dVRK's insertion frame."""
        rows = (
            ("roll", parent, T_parent_insertion @ mdh(d=self.d_roll)),
            ("wrist_pitch", "roll", mdh(alpha=-HALF_PI, theta=-HALF_PI)),
            ("wrist_yaw", "wrist_pitch", mdh(a=self.a_wrist, alpha=-HALF_PI, theta=-HALF_PI)),
        )
        return tuple(revolute(name, carrier, placement, {name: 1.0}) for name, carrier, placement in rows)

    def fingers(self) -> tuple[Body, ...]:
        """Two fingers at -jaw/2 and +jaw/2 from the wrist yaw body, the second carried by the first.

        One after the other, not side by side: an engine can then give the rotor of a motor that drives both its
        inertia in both.
        """
        return (
            revolute("finger_left", "wrist_yaw", np.eye(4), {"jaw": -0.5}),
            revolute("finger_right", "finger_left", np.eye(4), {"jaw": 1.0}),
        )


@dataclass(frozen=True, kw_only=True)
class Endoscope:
    """A scope of an ECM: `d_roll` insertion frame to tip [m], `T_roll_tip` view frame in the roll frame."""

    name: str
    d_roll: float
    T_roll_tip: Array
    source: str


def load_instrument(key: str, arm: str) -> Instrument:
    """The instrument with this number for a PSM or PSM_Si."""
    entry = _entry(key, arm)
    joints = tuple(
        Joint(
            name=name,
            kind="revolute",
            velocity=float(WRIST_VELOCITY),
            acceleration=float(WRIST_ACCELERATION),
            **entry[name],
        )
        for name in WRIST_JOINTS
    )
    return Instrument(
        name=entry["name"],
        d_roll=entry["d_roll"],
        a_wrist=entry["a_wrist"],
        joints=joints,
        coupling=np.array(entry["coupling"], dtype=float),
        T_yaw_tip=pose(R=entry["tip"]),
        jaw_length=entry["jaw_length"],
        source=entry["source"],
    )


def load_endoscope(key: str, arm: str) -> Endoscope:
    """The endoscope of this name for an ECM or ECM_Si."""
    entry = _entry(key, arm)
    straight = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    R = straight @ rotation("x", entry["view_pitch"])
    return Endoscope(name=entry["name"], d_roll=entry["d_roll"], T_roll_tip=pose(R=R), source=entry["source"])


def _entry(key: str, arm: str) -> dict[str, Any]:
    table = {k: v for k, v in read("instruments").items() if arm in v["arms"]}
    by_any_name = {**table, **{v["name"]: v for v in table.values()}}
    if str(key) not in by_any_name:
        raise UnknownName(f"instrument of {arm}", key, table)
    return dict(by_any_name[str(key)])
