"""Pages of tasks, policies and data sets: each is a list of panels."""

from __future__ import annotations

from collections.abc import Callable

from trocar.teleoperation.devices import DeviceConsole
from trocar.view.page import Page
from trocar.view.pages import close_up, delayed
from trocar.view.panels.mechanism import MarksPanel
from trocar.view.panels.plots import EffortPanel
from trocar.view.panels.teleop import ContactArrows, DevicePanel, MouseHandles, PairPanel
from trocar.view.viser_internals import PageServer
from trocar_learning.envs.live_task import LiveTask
from trocar_learning.view.policy_panel import PolicyPanel
from trocar_learning.view.policy_run import PolicyRun
from trocar_learning.view.task_panel import TaskPanel

DEPTH = 0.1  # from a task's camera to the point that the page looks at [m]


def policy_page(server: PageServer, run: PolicyRun, title: str) -> Page:
    """A policy on a task; `trocar score --view`."""
    camera = close_up(run.frame(), run.env.task.arms)
    panels = [PolicyPanel(run, title), MarksPanel(close_up=True), EffortPanel(choose=True)]
    return Page(server, run.frame, panels, camera=camera)


def task_page(
    server: PageServer, task: LiveTask, console: DeviceConsole, words: Callable[[], str], delay: float = 0.0
) -> Page:
    """A task that a person plays, seen from its camera; `trocar teleop record`.

    Args:
        words: return the state of the episode. delay: of the network [s].
    """
    place = task.camera_place().T_world_middle
    camera = place[:3, 3], place[:3, 3] + DEPTH * place[:3, 2]
    states = PairPanel(console)
    states.tab = TaskPanel.tab
    panels = [TaskPanel(task, words), states, DevicePanel(console), MouseHandles(task.robot, console), ContactArrows()]
    return Page(server, delayed(task.robot, delay), panels, title="trocar teleop", camera=camera)
