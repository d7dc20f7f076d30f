"""A motion played on a simulated robot as a script plays it on the real one, recorded with the robot's sensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trocar.errors import TrocarError
from trocar.files import check_memory
from trocar.recording import Recording
from trocar.robot.clients.devices import PSMClient
from trocar.robot.controller.actuators import Sensors
from trocar.robot.controller.constants import FREQUENCY
from trocar.robot.robot import Robot
from trocar.simulation.run import provenance
from trocar.simulation.simulator import Simulator
from trocar.spatial import Array

CYCLES = 5  # control cycles per row of the recording
SETTLING = 0.5  # time at the first row before the motion [s]
REPORTS = 100  # calls of `progress`
CHANNELS = 6  # q, dq, tau; commands q, dq, tau


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """A motion as the robot executes and reports it.

    Attributes:
        recording: means over five control cycles: q, dq, tau as the sensors report them; commands q, dq and tau, the
            efforts sent to the motors.
        motor_efforts: (n,) largest effort sent to each motor, of all control cycles [N m, N].
        switched_off: time at which the controller switched the arm off [s]. None: it did not.
        truth: (N, n) true joints at the end of the five cycles [rad, m]; behind wrist cables they differ from q.
    """

    recording: Recording
    motor_efforts: Array
    switched_off: float | None
    truth: Array


def rehearse(
    sim: Simulator, plan: Recording, *, sensors: Sensors | None = None, progress: Callable[[float], None] | None = None
) -> Rehearsal:
    """Play the rows of a plan on the simulated robot, under the dVRK's controller.

    Every row is a command `servo_jp` that holds until the next one. The controller sees the counts of the encoders, as
    the recording does, and the efforts have the noise of the current sensors.

    Args:
        sim: the arm to play it on, with a timestep of 1/1500 s.
        plan: q, dq of every joint; its times increase.
        sensors: imperfections of the sensors. Default: those of `Robot`.
        progress: called about a hundred times with the completed fraction.
    """
    cycles = CYCLES * math.floor((plan.t[-1] - plan.t[0]) * FREQUENCY / CYCLES)
    if cycles < 2 * CYCLES:
        raise TrocarError(f"the plan takes {plan.t[-1] - plan.t[0]:.3g} s, shorter than two rows of its recording")
    check_memory(
        2.0 * 8 * CHANNELS * sim.n * cycles, f"a rehearsal of {cycles:.3g} control cycles", "Play fewer periods"
    )
    sim.reset(plan.q[0])
    robot = Robot(sim.scene, speed="stepped", start="ready", sensors=sensors)
    controller, client = robot.controllers[sim.arm.name], robot.arm(sim.arm.name)
    hardware, joints = controller.hardware, controller.n_tip  # a jaw has its own topic

    def command(row: int) -> None:
        client.servo_jp(plan.q[row, :joints], plan.dq[row, :joints])
        if isinstance(client, PSMClient):
            client.jaw.servo_jp(plan.q[row, joints:], plan.dq[row, joints:])

    command(0)
    robot.run(SETTLING)
    row_of_cycle = np.searchsorted(plan.t - plan.t[0], (np.arange(cycles) + 1e-6) / FREQUENCY, side="right") - 1
    values, truth = np.empty((cycles, CHANNELS, sim.n)), np.empty((cycles // CYCLES, sim.n))
    last, switched_off = 0, None
    for cycle, row in enumerate(row_of_cycle):
        if row != last:
            if not controller.reports.flags[0]:
                switched_off = cycle / FREQUENCY
                values = values[: CYCLES * (cycle // CYCLES)]
                break
            command(row)
            last = row
        robot.step()
        commanded = hardware.setpoint(), hardware.setpoint_velocity(), hardware.setpoint_effort()
        values[cycle] = hardware.q, hardware.dq, hardware.tau, *commanded
        if cycle % CYCLES == CYCLES - 1:
            truth[cycle // CYCLES] = sim.q
        if progress is not None and (cycle + 1) * REPORTS // cycles != cycle * REPORTS // cycles:
            progress((cycle + 1) / cycles)
    if len(values) < 2 * CYCLES:
        raise TrocarError(f"the controller switched {sim.arm.name} off at the start of the motion")
    q, dq, tau, *commands = values.reshape(-1, CYCLES, CHANNELS, sim.n).mean(1).swapaxes(0, 1)
    recording = Recording(
        t=np.arange(len(q)) * CYCLES / FREQUENCY,
        q=q,
        dq=dq,
        tau=tau,
        joints=sim.arm.joint_names,
        joint_units=sim.arm.joint_units,
        commands=dict(zip(("q", "dq", "tau"), commands, strict=True)),
        provenance=provenance(sim, "the dVRK's controller"),
    )
    return Rehearsal(
        recording=recording,
        motor_efforts=np.abs(values[:, -1] @ sim.arm.motors.coupling).max(0),
        switched_off=switched_off,
        truth=truth[: len(q)],
    )
