"""Fig. 4 to 6 of Ferro et al. 2022 with the masses of their published scene instead of the identified ones.

The scene (`scene_file`) explains most of what their engine and their model differ by:

- masses were entered wrongly; the parameter set `ferro2022_scene` has them as they are in the scene;
- under excitation the engine is not where the log says: the scene starts at (0, 0, 0.1) and integrates the commanded
  velocities, and the program logs the joints of the recording that it replays;
- the counterweight follows by a motor, and its force reaches the tool one period late.

The remainder is noise of their solver above 5 Hz, where these motions have no content. Its RMS is measured in
the other log of the same motion (with and without counterweight), and added to ours as independent noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from trocar.demo.torque_control import ARM, rms
from trocar.mechanics import Mechanism, load_mechanism
from trocar.report import Claim, Report
from trocar.simulation import Mirror
from trocar.spatial import Array
from trocar_reproductions.experiment import Context
from trocar_reproductions.ferro2022.logs import PHYSICS, SESSIONS, TABLE, WITHOUT_COUNTERWEIGHT, Log, log_of, printed
from trocar_reproductions.ferro2022.replay import EXCITATION, Replay, agreement, integrated, noise

SET = "ferro2022_scene"
SOLVER_NOISE = 5.0  # lowest frequency of what is called noise [Hz]
FIGURES = {1: "fig 4 rectilinear", 2: "fig 4 rectilinear", 3: "fig 5 spiral", 4: "fig 5 spiral"}
FIGURES |= dict.fromkeys(EXCITATION, "fig 6 excitation")
NOISY = "{figure}, scene's masses and noise, {which} counterweight/{row}"
PLAIN = "{figure}, scene's masses, {which} counterweight/{row}"
TRACKS = "{figure}, scene's masses, log {session}/{row} correlation"


def scene_claims(context: Context, report: Report) -> list[Claim]:
    """Compare our engine with the scene's masses with the printed numbers and the logs; add a table for both sets."""
    logs = {session: log_of(context.data, session) for session in SESSIONS}
    claims: list[Claim] = []
    rows: list[tuple[str, ...]] = []
    for session, log in logs.items():
        which = "no" if session in WITHOUT_COUNTERWEIGHT else "with"
        fields: dict[str, Any] = {"figure": FIGURES[session], "which": which, "session": session}
        fields |= {"published": list(printed(session)), "tolerance": TABLE.entries[SESSIONS[session][0]]["tolerance"]}
        entry = PLAIN if session in EXCITATION else NOISY
        other = logs[session + 1 if which == "no" else session - 1]
        if isinstance(log, str) or isinstance(other, str):
            reason = log if isinstance(log, str) else str(other)
            claims += TABLE.claims(entry, reason, **fields)
            claims += TABLE.claims(TRACKS, reason, figure=FIGURES[session], session=session)
            continue
        scene = SceneReplay(log, session, *_mechanisms(SET))
        alone, noises = scene.errors(), scene.noises()
        fields |= {"alone": list(alone), "slow": list(scene.slow()), "our_noise": list(noises[0])}
        if session in EXCITATION:
            ours, fields["noise"] = alone, list(noises[1])
        else:
            their_noise, own = solver_noise(other), solver_noise(log)
            ours = np.hypot(alone, their_noise)
            fields |= {"noise": list(their_noise), "own_noise": list(own), "with_own": list(np.hypot(alone, own))}
        claims += TABLE.claims(entry, ours, **fields)
        claims += _tracking(scene, session)
        masses = SceneReplay(log, session, *_mechanisms("wang2019"))
        rows.append(_row(session, which, masses, scene))
    if rows:
        headings = ("run", "printed", "published masses", "scene's masses", "difference of the engines below 5 Hz")
        report.add_table(
            "Fig. 4 to 6: RMS of our engine under the logged commands against the logged reference, on J1 [N m], J2 "
            "[N m], J3 [N]; last column: RMS of their engine minus ours below 5 Hz, published and scene's masses.",
            headings,
            rows,
        )
    return claims


class SceneReplay:
    """The commands of a log in this engine, with everything that the scene says about their engine.

    Attributes:
        engine, theirs: effort of this engine and of theirs (N, 3), after the transient [N m, N m, N].
        reference: the torque they were compared with in the paper: of the model, or of the real robot.
    """

    def __init__(self, log: Log, session: int, with_weight: Mechanism, without: Mechanism) -> None:
        self._period = float(log.t[1] - log.t[0])
        q = integrated(log) if session in EXCITATION else log.arm_joints("qmsr")
        replay = Replay(log, session, with_weight, without, q)
        self.engine, self.theirs = replay.engine.copy(), replay.theirs
        self.equations = replay.equations
        self.reference = log[SESSIONS[session][1]][log.settled][:, ARM]
        if session not in WITHOUT_COUNTERWEIGHT:
            alone = Replay(log, session - 1, with_weight, without, q).engine[:, 2]
            mirrored = mirrored_force(with_weight, without, q, log.arm_joints("qdcmd"), self._period)
            self.engine[:, 2] = alone + mirrored[log.settled]

    def errors(self) -> Array:
        """RMS (3,) of our engine against the reference of the paper."""
        return rms(self.engine - self.reference)

    def noises(self) -> tuple[Array, Array]:
        """RMS (3,) of our effort and of theirs above the frequencies of the motion."""
        ours, theirs = (rms(x - below_noise(x, self._period)) for x in (self.engine, self.theirs))
        return ours, theirs

    def slow(self) -> Array:
        """RMS (3,) of the difference of the engines below the frequencies of the noise."""
        return rms(below_noise(self.theirs - self.engine, self._period))


def mirrored_force(
    with_weight: Mechanism, without: Mechanism, q: Array, commanded: Array, period: float, motor: Mirror | None = None
) -> Array:
    """Force (N,) of the counterweight's motor that the script applies to the tool in the period before each row [N].

    The motor drives the counterweight after the insertion by its position loop; the script passes the mean force of a
    period on in the next one. The motion of the arm is given, so the equations provide the load.
    """
    motor = Mirror() if motor is None else motor
    steps = max(1, round(period / PHYSICS))
    rows = np.arange(3, len(q))
    ddq = (commanded[rows - 2] - commanded[rows - 3]) / period
    ddq[:, 2] = 0.0
    load = np.zeros(len(q))
    for sign, mechanism in ((1.0, with_weight), (-1.0, without)):
        load[3:] += sign * mechanism.inverse_dynamics(q[rows - 1], commanded[rows - 2], ddq)[:, 2]
    mass = with_weight.mass_matrix(q[0])[2, 2] - without.mass_matrix(q[0])[2, 2]
    passed, position, velocity = np.full(len(q), load[3]), q[2, 2], 0.0
    for k in rows[:-1]:
        total = 0.0
        for _ in range(steps):
            speed = np.clip(motor.gain / motor.physics * (q[k - 1, 2] - position), -motor.speed, motor.speed)
            force = np.clip(mass * (speed - velocity) / PHYSICS + load[k], -motor.force, motor.force)
            velocity += (force - load[k]) / mass * PHYSICS
            position += velocity * PHYSICS
            total += force
        passed[k + 1] = total / steps
    return passed


def below_noise(values: Array, period: float) -> Array:
    """The part of signals (N, 3) below the frequencies of the solver's noise."""
    low: Array = scipy.signal.filtfilt(*scipy.signal.butter(4, SOLVER_NOISE * 2 * period), values, axis=0)
    return low


def solver_noise(log: Log) -> Array:
    """RMS (3,) of their engine's effort above the frequencies of the motion [N m, N m, N]."""
    efforts = log.simulated()
    fast = efforts - below_noise(efforts, float(log.t[1] - log.t[0]))
    return rms(fast[log.settled])


def _mechanisms(name: str) -> tuple[Mechanism, Mechanism]:
    return load_mechanism("PSM", name), load_mechanism("PSM", name, counterweight=False)


def _tracking(scene: SceneReplay, session: int) -> list[Claim]:
    """Claims on the correlation of the engines, for joints whose torque varies by more than their noise."""
    compared = agreement(scene.engine, scene.theirs)
    correlations = [
        f"not reproducible: the row-to-row noise of their engine is {a:.2g}, the torque along this motion varies by "
        f"{b:.2g} (standard deviation); correlation {c:.2f}"
        if a > b
        else c
        for a, b, c in zip(noise(scene.theirs), scene.engine.std(axis=0), compared.correlation, strict=True)
    ]
    ours, theirs = scene.noises()
    means: dict[str, Any] = {"rms": list(compared.rms), "mean": list(compared.mean), "slow": list(scene.slow())}
    means |= {"noise": list(theirs), "our_noise": list(ours)}
    return TABLE.claims(TRACKS, correlations, figure=FIGURES[session], session=session, **means)


def _row(session: int, which: str, published: SceneReplay, scene: SceneReplay) -> tuple[str, ...]:
    counterweight = "without" if which == "no" else "with"
    return (
        f"{FIGURES[session]}, {counterweight} counterweight (log {session})",
        _three(printed(session)),
        _three(published.errors()),
        _three(scene.errors()),
        f"{_three(published.slow())}; {_three(scene.slow())}",
    )


def _three(values: Array) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
