"""Appearance of the robot: shapes of arms, carts and instruments, cameras, pictures and films.

`render` draws a picture of a simulator, scene, arm or cart; `save_png` and `render_video` write files;
`StereoEndoscope` is the camera of an ECM; `kinematic_arm` and `kinematic_cart` are MuJoCo models for viewing.
"""

from trocar.appearance.endoscope_camera import StereoEndoscope
from trocar.appearance.films import Picture, render_video, save_png
from trocar.appearance.kinematic_model import kinematic_arm, kinematic_cart
from trocar.appearance.lens import Lens
from trocar.appearance.rendering import CAMERAS, render, view
from trocar.appearance.studio import Trace

__all__ = ["CAMERAS", "Lens", "Picture", "StereoEndoscope", "Trace", "kinematic_arm", "kinematic_cart"]
__all__ += ["render", "render_video", "save_png", "view"]
