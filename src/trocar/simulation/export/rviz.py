"""A configuration of RViz 2 that shows a model: its links, its frames, a grid."""

from __future__ import annotations

from trocar.simulation.export.links import ROOT
from trocar.spatial import Array

TEMPLATE = """\
Panels:
  - Class: rviz_common/Displays
    Name: Displays
Visualization Manager:
  Class: ""
  Displays:
    - Class: rviz_default_plugins/Grid
      Name: Grid
      Enabled: true
      Value: true
      Cell Size: 0.1
      Plane Cell Count: 20
      Reference Frame: {base}
    - Class: rviz_default_plugins/RobotModel
      Name: {arm}
      Enabled: true
      Value: true
      Description Source: Topic
      Description Topic:
        Value: /robot_description
      Visual Enabled: true
      Collision Enabled: false
    - Class: rviz_default_plugins/TF
      Name: Frames
      Enabled: false
      Value: false
      Marker Scale: 0.1
  Global Options:
    Background Color: 214; 222; 230
    Fixed Frame: {base}
    Frame Rate: 30
  Tools:
    - Class: rviz_default_plugins/MoveCamera
  Views:
    Current:
      Class: rviz_default_plugins/Orbit
      Name: Orbit
      Distance: {distance}
      Focal Point:
        X: {x}
        Y: {y}
        Z: {z}
      Pitch: 0.33
      Yaw: 5.7
"""


def rviz(name: str, centre: Array, extent: float) -> str:
    """Text of NAME.rviz; `centre` (3,) and `extent` of the visible shapes [m]."""
    x, y, z = (round(float(value), 2) for value in centre)
    return TEMPLATE.format(arm=name, base=ROOT, distance=round(1.6 * extent, 2), x=x, y=y, z=z)
