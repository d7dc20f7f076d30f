"""A PSM with a suture needle in its jaws above a block of tissue or a wound: the start of a stitch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from trocar import checks
from trocar.errors import TrocarError
from trocar.mechanics import load_mechanism
from trocar.simulation.objects.piercing import Piercing
from trocar.simulation.objects.solid import needle
from trocar.simulation.objects.thread import Thread
from trocar.simulation.objects.tissue import Tissue
from trocar.simulation.scene import Scene
from trocar.simulation.scene_arm import SceneArm
from trocar.simulation.skills.hands import wrist_margin
from trocar.simulation.skills.needle_frames import arc_pose, grip_frame
from trocar.spatial import Array, inverse, pose, rotation

SIZE = (0.044, 0.030, 0.015)  # of the tissue [m]
ELEVATION, REACH = np.radians(45.0), 0.15  # of the shaft above the tissue [rad], remote centre to tissue [m]
LEAN = np.radians(20.0)  # of the needle's plane, which gives the wrist room
START = np.radians(165.0)  # angle of the needle's point at the start, just above the surface
OPENING = 0.112  # of jaws around a wire of 0.7 mm [rad]
BASE_R = rotation("x", np.pi / 2 - ELEVATION)
BASE = pose(BASE_R, np.array([0.0, 0.0, 2e-3]) + REACH * BASE_R[:, 2])  # of the PSM
WOUND = {"young": 6e4, "cells": (3, 2, 2)}  # of the flaps of a wound


def suture_scene(
    *,
    height: float = 5.2e-3,
    angle: float = START,
    grip_angle: float = np.radians(-60.0),
    friction: float = 0.7,
    piercing: Piercing | None = None,
    thread: Thread | None = None,
    timestep: float = 1e-3,
    arm: Mapping[str, Any] | None = None,
    **tissue: Any,
) -> Scene:
    """A scene with PSM1, an SH "needle" between its jaws, a "thread" and a "tissue" with its surface at z = 0.

    Args:
        height: of the needle's centre above the tissue [m]; lower is deeper.
        angle: of the needle's point on its arc [rad]; see `arc_pose`.
        grip_angle: of the gripped point from the middle of the needle [rad]. friction: of the needle.
        piercing: forces of the tissue. thread: Default: 140 mm. arm: fields of `SceneArm`, such as
            joints q other than those that hold the needle.
        tissue: further fields of `Tissue`.
    """
    thread = Thread("thread", "needle") if thread is None else thread
    resistance = Piercing() if piercing is None else piercing
    T = arc_pose(height, angle, LEAN)
    return _scene({"tissue": (SIZE[0], 0.0)}, T, grip_angle, friction, resistance, thread, timestep, tissue, arm)


def wound_scene(
    *,
    gap: float = 2e-3,
    height: float = 5.2e-3,
    grip_angle: float = np.radians(-60.0),
    friction: float = 0.7,
    piercing: Piercing | None = None,
    thread: Thread | None = None,
    timestep: float = 1e-3,
    **tissue: Any,
) -> Scene:
    """The scene of `suture_scene` with a wound along y instead of the block: the flaps "left" and "right".

    The flaps are held at their bottom and at their outer side.

    Args:
        gap: width of the wound [m]. piercing: Default: with a spacing of 2 mm.
        thread: Default: 90 mm, with a stopper at its end.
        height, grip_angle, friction, tissue: as in `suture_scene`.
    """
    width = (SIZE[0] - checks.number("gap", gap, 1e-4, 5e-3, "m")) / 2
    flaps = {"left": (width, -(gap + width) / 2), "right": (width, (gap + width) / 2)}
    thread = Thread("thread", "needle", length=0.09, segments=20, knot=True) if thread is None else thread
    resistance = Piercing(spacing=2e-3) if piercing is None else piercing
    T = arc_pose(height, START, LEAN)
    return _scene(flaps, T, grip_angle, friction, resistance, thread, timestep, WOUND | tissue)


def gripping_joints(T_world_tip: Array) -> Array:
    """Joints (7,) of a PSM at `BASE` whose jaws hold a wire at a tip pose (4, 4), far from the limits of the wrist."""
    psm = load_mechanism("PSM")
    reach = psm.inverse_kinematics_all(inverse(BASE) @ T_world_tip)
    if not reach:
        raise TrocarError("the PSM does not reach the needle; use another place or grip of the needle")
    q = np.array(max(reach, key=lambda q: wrist_margin(psm.arm.lower, psm.arm.upper, q)))
    q[-1] = OPENING
    return q


def _scene(
    blocks: Mapping[str, tuple[float, float]],
    T: Array,
    grip_angle: float,
    friction: float,
    piercing: Piercing,
    thread: Thread,
    timestep: float,
    tissue: Mapping[str, Any],
    arm: Mapping[str, Any] | None = None,
) -> Scene:
    """A scene with a needle at T (4, 4) and tissues by name, each with its width and its place along x [m]."""
    curved, fields = needle("needle", T, size="SH", friction=friction), dict(arm or {})
    if "q" not in fields:
        fields["q"] = gripping_joints(T @ grip_frame(curved, grip_angle, side=-1))
    tissues = []
    for name, (width, x) in blocks.items():
        outer = ("-x",) if x < 0 else ("+x",) if x > 0 else ()
        block: dict[str, Any] = {"size": (width, *SIZE[1:]), "pose": pose(p=[x, 0.0, -SIZE[2] / 2]), "mesh": 5e-3}
        block |= {"fixed": ("-z", *outer)} | dict(tissue)
        tissues.append(Tissue(name, **block, piercing=replace(piercing, needle=curved.name)))
    return Scene(
        {"PSM1": SceneArm(arm="PSM", base=BASE, **fields)},
        objects=[curved, thread, *tissues],
        accuracy="discrete",
        timestep=timestep,
        overlaps=True,
    )
