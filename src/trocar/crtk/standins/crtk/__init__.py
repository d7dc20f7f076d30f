"""A stand-in for the Python package crtk 1.4 and, for the results of getters, earlier releases."""

from trocar.crtk.standins.crtk import msg_conversions
from trocar.crtk.standins.crtk.button import joystick_button
from trocar.crtk.standins.crtk.features import utils
from trocar.crtk.standins.crtk.move_handle import wait_move_handle
from trocar.crtk.standins.crtk.msg_conversions import (
    ArrayFromTwistMsg,
    ArrayFromWrenchMsg,
    ArrayToTwistMsg,
    ArrayToWrenchMsg,
    FrameFromPoseMsg,
    FrameFromTransformMsg,
    FrameToPoseMsg,
    FrameToTransformMsg,
)
from trocar.crtk.standins.crtk.node import ral
from trocar.crtk.standins.crtk.pose_reader import measured_cp

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
