"""Conformance to the dVRK's interface as named checks, for any implementation of the bus.

    from trocar.robot import Robot
    from trocar.robot.conformance import Permission, Subject, examine

    robot = Robot("psm", start="ready")
    for result in examine(Subject(robot, "PSM", "PSM"), Permission.read):
        print(result.check, result.status, result.reason)

The checks use only a bus (`AnyBus`) and a clock. With `Permission.read` they send no commands; checks that
would do so are skipped with the reason. A client of another implementation, such as a robot in ROS, is a `Connection`.
"""

from trocar.robot.conformance.check import CHECKS, Check, Permission, Result, checks_of, examine
from trocar.robot.conformance.subject import AnyBus, Connection, Subject

__all__ = ["CHECKS", "AnyBus", "Check", "Connection", "Permission", "Result", "Subject", "checks_of", "examine"]
