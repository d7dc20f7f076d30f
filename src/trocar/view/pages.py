"""The pages: each is a list of panels."""

from __future__ import annotations

from itertools import count

import numpy as np

from trocar.robot import Robot
from trocar.runtime.shadow import Shadow
from trocar.teleoperation.devices import DeviceConsole
from trocar.view.endoscope import EndoscopeRenderer
from trocar.view.page import Page
from trocar.view.panels.endoscope import Endoscope
from trocar.view.panels.shadow import ShadowCurves, ShadowState
from trocar.view.panels.states import Pedals, States
from trocar.view.panels.teleop import ContactArrows, Devices, MouseHandles, Pairs
from trocar.view.robot_frames import RobotFrames
from trocar.view.viser_internals import PageServer

SCRIPT_SHARE = 0.1  # largest share of the real time for drawing while a script drives the robot
CLOSE_UP = np.array([0.17, 0.28, 0.19])  # first camera position relative to the instruments [m]
PICTURE, PICTURE_INTERVAL = (640, 480), 1 / 15  # size [pixels] and interval [s] of the endoscope's picture


def script_page(server: PageServer, robot: Robot) -> Page:
    """The robot of a script: its operating states and messages, and its pedals."""
    panels = [States(robot), Pedals(robot)]
    return Page(server, RobotFrames(robot), panels, title="trocar run", share=SCRIPT_SHARE)


def teleop_page(server: PageServer, robot: Robot, console: DeviceConsole, delay: float = 0.0) -> Page:
    """A robot under input devices, seen after a network delay [s]."""
    source = RobotFrames(robot, delay)
    arms = source().scene.arms
    tips = [(arms[psm].T_world_base @ source().arms[psm].T_tip)[:3, 3] for psm in console.pairs]
    centre = np.mean(tips, axis=0)
    panels = [
        Endoscope(EndoscopeRenderer("ECM", PICTURE, PICTURE_INTERVAL), eyes=1, through=True),
        Pairs(console),
        Devices(console),
        MouseHandles(robot, console),
        ContactArrows(),
    ]
    return Page(server, source, panels, title="trocar teleop", camera=(centre + CLOSE_UP, centre))


def shadow_page(server: PageServer, shadow: Shadow, name: str) -> Page:
    """A robot that is only watched; `name`: of its arm in ROS."""
    numbers = count(1)
    return Page(server, lambda: shadow.frame(next(numbers)), [ShadowState(shadow, name), ShadowCurves(shadow)])
