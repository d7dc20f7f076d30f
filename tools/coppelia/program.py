"""The loop of the program of Ferro et al. 2022 as a client: its calls in their order, its tasks and control laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from tools.coppelia.client import RemoteApiClient
from trocar.control import CartesianKinematic, State
from trocar.control.trajectories.paths import TipMotion
from trocar.demo.torque_control import ARM, R_WORLD_BASE, R_WORLD_TIP, SPIRAL_OF_CODE, START
from trocar.mechanics import load_mechanism
from trocar.spatial import Array, pose
from trocar_reproductions.coppelia.packets import ScriptCall
from trocar_reproductions.ferro2022.program import GAINS, TorqueProgram, low_pass
from trocar_reproductions.ferro2022.runs import at_their_tip
from trocar_reproductions.ferro2022.tasks import REST

JOINTS = ("J1", "J2", "", "J23", "J22", "J24", "J25", "J3", "", "J4", "J5", "J6", "J7", "")
ACTIVE = [0, 1, 7, 9, 10, 11, 12]
LETTERS = {"PSM1": "L", "PSM2": "R"}
SLOPE = {False: 5e-3, True: 3e-3}  # of the line: the program of October 2022; log 8, of mid-2022 [m/s]
KINEMATIC_GAINS = {"regulation": (5.0, 0.1), "line": (15.0, 5e-4), "spiral": (15.0, 5e-4)}  # kp [1/s], ki [1/s^2]
DRAWN = 50  # points of the drawn path per period


@dataclass
class ProgramLog:
    """Rows of a run: joints (N, 7), efforts as read (N, 3), commands, tip and target in the scene (N, 3)."""

    qmsr: Array
    tauMsr: Array
    qdcmd: Array
    tauCmd: Array
    tauModel: Array
    pee: Array
    pdes: Array


def path(task: str, centre: Array, torque: bool, regulation: Array) -> Callable[[float], tuple[Array, Array, Array]]:
    """Position, velocity and acceleration (3,) of the target in the scene at a time."""
    if task == "regulation":
        return lambda t: (regulation, np.zeros(3), np.zeros(3))
    if task == "line":
        slope = SLOPE[torque] * np.array([-1.0, -1.0, 1.0])
        return lambda t: (centre + slope * t, slope, np.zeros(3))
    s = SPIRAL_OF_CODE
    w, v = 2 * np.pi * s.fA, 2 * np.pi * s.fh

    def spiral(t: float) -> tuple[Array, Array, Array]:
        c, d, e, f = np.cos(w * t), np.sin(w * t), np.cos(v * t), np.sin(v * t)
        at = np.array([s.A * c, s.A * d, s.h * e])
        return (
            centre + at,
            np.array([-w * s.A * d, w * s.A * c, -v * s.h * f]),
            -np.array([w**2, w**2, v**2]) * at,
        )

    return spiral


class Program:
    """The program on one connection.

    Args:
        task: regulation, line, spiral or excitation. given: what the excitation plays in open loop (N, 3): velocities,
            or efforts under torque control.
    """

    def __init__(self, client: RemoteApiClient, task: str, *, arm: str = "PSM1", given: Array | None = None) -> None:
        self._client, self._task, self._letter = client, task, LETTERS[arm]
        self._model, self._given = at_their_tip(load_mechanism("PSM")), given
        names = {"J23": "J23_PSM1", "J25": "J25_PSM1"} if arm == "PSM1" else {"J23": "J23_PSM12", "J25": "J25_PSM12"}
        self._base = client.handle("DH0_ref" if arm == "PSM1" else "DH0_ref2")
        self._dummy, self._mirror = client.handle("eeDummy"), client.handle(f"J3mirror_{arm}")
        self._handles = [client.handle(names.get(n, f"{n}_{arm}")) if n else 0 for n in JOINTS]
        for handle in self._handles:
            if handle:
                client.joint_position(handle)
        self._start = np.array(client.position(client.handle("Start")))
        client.synchronous()
        client.start()
        client.trigger()
        self.period = round(client.float_signal("simulationTimeStep"), 6)
        self._regulation = np.array(client.position(client.handle("eeRef_regulation")))
        client.orientation(self._base)
        client.position(self._base)

    def run(self, rows: int) -> ProgramLog:
        """Run the control loop."""
        client, period = self._client, self.period
        drawn = tuple(np.zeros(3 * DRAWN * rows).tolist())
        client.call_script("ApiRemoteBridge", "drawTrajectory", ScriptCall((DRAWN * rows,), drawn))
        for handle in (*self._handles, self._mirror):
            client.stream_joint(handle)
        torque = client.float_signal("dynamicCtrlFlagSignal") == 1.0
        client.trigger()
        wanted = path(self._task, self._start, torque, self._regulation)
        log = ProgramLog(*(np.zeros((rows, n)) for n in (7, 3, 7, 3, 3, 3, 3)))
        effort_law = TorqueProgram(self._model, *GAINS[{"line": "rectilinear"}.get(self._task, "regulation")])
        if self._task == "spiral":
            effort_law = TorqueProgram(self._model, *GAINS["spiral"])
        kp, ki = KINEMATIC_GAINS.get(self._task, (15.0, 0.0))
        law = CartesianKinematic(self._model, kp=kp, joints=6, ki=ki, kp_orientation=kp)
        rest = self._model.forward_kinematics(START)[:3, 3]
        moving = np.zeros((rows, 7))
        before = START
        for k in range(rows):
            read = np.array([client.joint(handle) for handle in self._handles])[ACTIVE]
            q = log.qmsr[k] = read[:, 0]
            log.tauMsr[k] = read[:3, 1]
            q7 = np.append(q[:6], 0.0)
            T = self._model.forward_kinematics(q7)
            at = log.pee[k] = REST + R_WORLD_BASE @ (T[:3, 3] - rest)
            p, dp, ddp = wanted(k * period)
            log.pdes[k] = p
            in_base = [R_WORLD_BASE.T @ x for x in (dp, ddp)]
            velocity = (q7 - before) / period
            before = q7
            target = rest + R_WORLD_BASE.T @ (p - REST)
            if self._given is not None:
                played = log.tauCmd[k] if torque else log.qdcmd[k, ARM]
                played[:] = self._given[k]
                moving[k] = velocity if torque else log.qdcmd[k]
            elif torque:
                log.tauCmd[k], moving[k], _ = effort_law.command(q7, target, *in_base)
            else:
                motion = TipMotion(
                    pose(R_WORLD_BASE.T @ R_WORLD_TIP, target), np.append(in_base[0], np.zeros(3)), np.zeros(6)
                )
                log.qdcmd[k] = moving[k] = law.rate(State(k * period, q7, np.zeros(7)), motion)
            self._send(log, k, torque, at, p - at, T, velocity)
            client.trigger()
            client.ping()
        ddq = low_pass(np.diff(moving, axis=0, prepend=0.0 * moving[:1]) / period)
        arm = np.pad(log.qmsr[:, ARM], ((0, 0), (0, 4)))
        moving[:, 3:] = ddq[:, 3:] = 0.0
        log.tauModel[:] = self._model.inverse_dynamics(arm, moving, ddq)[:, ARM]
        client.stop()
        return log

    def _send(self, log: ProgramLog, k: int, torque: bool, at: Array, error: Array, T: Array, velocity: Array) -> None:
        """Queue the program's signals of a row."""
        client, letter = self._client, self._letter
        client.set_position(self._dummy, tuple(at))
        R = (R_WORLD_BASE @ T[:3, :3] @ R_WORLD_TIP.T).T
        client.set_quaternion(self._dummy, tuple(Rotation.from_matrix(R).as_quat()))
        for i in range(7):
            client.set_float_signal(f"q{letter}dot_{i + 1}", log.qdcmd[k, i])
            client.set_float_signal(f"q{letter}dot_{i + 1}_msr", velocity[i])
            client.set_float_signal(f"q{letter}dd_{i + 1}", 0.0)
            if torque:
                client.set_float_signal(f"tau{letter}_{i + 1}", log.tauCmd[k, i] if i < 3 else 0.0)
        for axis, x, e in zip("xyz", at, error, strict=True):
            client.set_float_signal(f"{axis}_ee", x)
            client.set_float_signal(f"error_{axis}", e)
        for name in ("error_alfa", "error_beta", "error_gamma", "Torque_J1", "Torque_J2", "Force_J3"):
            client.set_float_signal(name, 0.0)
