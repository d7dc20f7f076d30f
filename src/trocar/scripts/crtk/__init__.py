"""A stand-in for the Python package crtk 1.4 and, for the results of getters, earlier releases."""

from trocar.scripts.crtk import msg_conversions
from trocar.scripts.crtk.button import joystick_button
from trocar.scripts.crtk.features import utils
from trocar.scripts.crtk.move_handle import wait_move_handle
from trocar.scripts.crtk.msg_conversions import (
    ArrayFromTwistMsg,
    ArrayFromWrenchMsg,
    ArrayToTwistMsg,
    ArrayToWrenchMsg,
    FrameFromPoseMsg,
    FrameFromTransformMsg,
    FrameToPoseMsg,
    FrameToTransformMsg,
)
from trocar.scripts.crtk.node import ral
from trocar.scripts.crtk.pose_reader import measured_cp

__all__ = [
    "ArrayFromTwistMsg",
    "ArrayFromWrenchMsg",
    "ArrayToTwistMsg",
    "ArrayToWrenchMsg",
    "FrameFromPoseMsg",
    "FrameFromTransformMsg",
    "FrameToPoseMsg",
    "FrameToTransformMsg",
    "joystick_button",
    "measured_cp",
    "msg_conversions",
    "ral",
    "utils",
    "wait_move_handle",
]
