"""The live robot: simulated arms under the dVRK's controllers, with its interface (CRTK), in process and without ROS.

    from trocar.robot import Robot

    with Robot("dvrk") as robot:         # Classic cart, PSM1-3, ECM, MTML, MTMR, SUJ, system, console
        psm = robot.psm("PSM1")
        psm.enable(timeout=10)
        psm.home(timeout=10)
        q, t = psm.measured_jp()
        psm.move_jp(q + [0.1, 0, 0, 0, 0, 0]).wait()

`Robot` simulates the arms under the dVRK's 1500 Hz controllers and puts every device on one `Bus`: `PSM1/measured_js`,
`PSM1/move_jp`, ... The table of all topics and services is `trocar.robot.interface`, the message types are in
`trocar.robot.messages`. The client classes (`Arm`, `PSM`, `ECM`, `MTM`, `SUJ`, `System`, `Console`, `TeleopPSM`,
`TeleopECM`) have the methods of the Python packages `crtk` 1.4 and `dvrk` 2.4 and use only the bus and the robot's
clock. Poses are (4, 4) arrays; getters return (value, time of measurement [s]).

Time passes in one of three ways (`Robot(speed=...)`):

- "fast" (default): the waiting caller advances the simulation, as fast as the machine allows. No time passes between
  the waits of a script, and a script gives the same result in every run.
- "real", or a number such as 0.5 (ratio of simulated to real time): a thread advances the simulation.
- "stepped": only `robot.run(seconds)` and `robot.step(cycles)` advance it; a wait returns immediately.

`robot.simulation()` pauses, steps, resets and changes the running simulation, selects control laws (`LAWS`), records.

A window on the robot (a page, ROS, a script, an input device) uses `robot.bus` (publish, subscribe, read, call), the
clients, `robot.readings(arm)` (values without messages), `robot.now` [ns], `robot.time` [s], `robot.sleep(seconds)`,
`robot.wait_for(condition, timeout)`, `robot.every(period, action)` and `robot.devices` (kind of every device by name).
"""

from trocar.lazy_names import loaded, origins

_ORIGINS = origins(__file__)
__all__ = list(_ORIGINS)


def __getattr__(name: str) -> object:
    """Import names on first use: the ROS processes need the table and the messages, but no engine."""
    return loaded(__name__, _ORIGINS, name)


def __dir__() -> list[str]:
    return sorted({*__all__, "__doc__"})
