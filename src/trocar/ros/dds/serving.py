"""Serve a simulated robot in ROS 2 until Ctrl-C, for `trocar serve --ros2`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trocar.crtk import Robot
from trocar.errors import TrocarError, check_known
from trocar.ros.dds.bridge import DISTROS, Bridge
from trocar.ros.dds.domain import chosen_domain, configuration

WATCHED = 0.2  # interval between checks of the simulation [s]


def serve(
    scene: str,
    start: str,
    arms: Sequence[str],
    rate: float,
    domain: int | None,
    interface: str,
    distro: str,
    say: Callable[[str], object],
) -> None:
    """Serve a scene in real time; the options are those of `Robot` and `Bridge`.

    Args:
        domain: default: ROS_DOMAIN_ID, else 0. say: function that prints a line.
    """
    check_known("distribution of ROS 2", DISTROS, distro)
    number = chosen_domain(domain)
    configuration(interface)  # raises an error before the scene is loaded
    with (
        Robot(scene, speed="real", start=start, arms=arms or None) as robot,
        Bridge(robot, rate=rate, domain=number, interface=interface, distro=distro) as bridge,
    ):
        say(
            f"serving {', '.join(robot.devices)}: {len(robot.bus.topics)} topics, {len(bridge.services)} services; "
            f"ROS_DOMAIN_ID={number} on {interface}; press Ctrl-C to stop"
        )
        try:
            while bridge.running and robot.error is None:
                bridge.wait(WATCHED)
        except KeyboardInterrupt:
            say("stopped")
            return
        raise TrocarError(bridge.error or f"the simulation stopped: {robot.error!r}")
