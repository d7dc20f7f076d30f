"""A small checkout of dvrk_model: one description and one mesh."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

XACRO = """<?xml version="1.0"?>
<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="base" params="prefix parent_link xyz rpy">
    <link name="${prefix}RCM_link"/>
    <joint name="a" type="fixed"><parent link="${prefix}RCM_link"/><child link="${prefix}base_link"/>
      <origin rpy="${rpy}" xyz="${xyz}"/></joint>
    <joint name="b" type="revolute"><parent link="${prefix}base_link"/><child link="${prefix}yaw_link"/>
      <origin rpy="0 -${PI_2} ${PI/2}" xyz="0 -0.1 0"/></joint>
    <link name="${prefix}yaw_link"><visual><origin rpy="0 0 0" xyz="0 0 0.3"/><geometry>
      <mesh filename="package://dvrk_model/meshes/arms/Classic/PSM/PSM_yaw.dae" scale="2 2 2"/>
    </geometry></visual></link>
    <link name="${prefix}pitch_2_link"><visual><geometry>
      <mesh filename="package://dvrk_model/meshes/absent.stl"/></geometry></visual></link>
  </xacro:macro>
  <xacro:macro name="other"><link name="yaw_link"><visual><geometry><mesh filename="x.stl"/></geometry></visual></link>
  </xacro:macro>
</robot>
"""


def tetrahedron() -> bytes:
    """A tetrahedron as STL, 1 cm a side, with a corner at its origin."""
    corners = 0.01 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    triangles = b"".join(struct.pack("<12fH", 0, 0, 0, *corners[list(face)].ravel(), 0) for face in faces)
    return bytes(80) + struct.pack("<I", len(faces)) + triangles


def write_checkout(folder: Path) -> Path:
    """Write the checkout into a folder, which is returned."""
    meshes, descriptions = folder / "meshes/arms/Classic/PSM", folder / "urdf/Classic"
    meshes.mkdir(parents=True)
    descriptions.mkdir(parents=True)
    (meshes / "PSM_yaw.stl").write_bytes(tetrahedron())
    (descriptions / "PSM_base.urdf.xacro").write_text(XACRO)
    return folder
