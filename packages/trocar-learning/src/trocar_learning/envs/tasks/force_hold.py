"""ForceHold: press with a set force on a surface of unknown stiffness that breathes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from trocar.simulation import Scene, SceneArm
from trocar.simulation.objects.solid import Box
from trocar.spatial import Array, Values, pose
from trocar_learning.envs.actions import TIP_SPEED, jaw_action
from trocar_learning.envs.task import POINT, Memory, Policy, SceneOptions, Task, named
from trocar_learning.envs.tasks.phantom import BreathingSolid
from trocar_learning.envs.world import PERIOD, RATE, World, Worlds

if TYPE_CHECKING:
    from trocar_learning.envs.task_env import TaskEnv

FORCE = (0.5, 2.0)  # set force [N]
# Of the surface [N/m]. At least 400: at 2 N the jaws sink in by 5 mm, half their length; deeper, their contacts jump.
STIFFNESS = (400.0, 3000.0)
GAP = (2e-3, 5e-3)  # between jaws and surface at the start [m]
# Motion of the surface: a ventilated liver is 2.9 (SD 1.03) mm from its mean place on average (Galmen et al. 2018), and
# the amplitude of a sine is pi/2 times that [m]; 10 to 15 breaths per minute [Hz].
AMPLITUDE, BREATHS = (0.5e-3 * np.pi * (2.90 - 1.03), 0.5e-3 * np.pi * (2.90 + 1.03)), (10 / 60, 15 / 60)
TOLERANCE, MAX_OVERSHOOT = 0.10, 0.5  # shares of the set force
NOISE = 0.01  # of the force sensor per sigma [N]
PAD = np.array([0.08, 0.08, 0.02])  # [m]
LOWER = np.array([-0.25, -0.25, 0.10, 0.0, 0.0, 0.0, 0.0])  # of the start [rad, m]
UPPER = np.array([0.25, 0.25, 0.14, 0.0, 0.0, 0.0, 0.0])
APPROACH = 0.6  # of the expert: share of the largest speed
NEAR, SLOW = 0.6e-3, 5e-5  # height below which it moves slowly [m], [m] per period
FAST = 1.2e-4  # largest step in contact [m] per period
STIFFEST = 5000.0  # of several points of contact [N/m]
MAX_WAIT = 8  # more periods than an action takes to have an effect
DEADBAND = 0.04  # share of the set force
SHARE = 0.4  # of the missing force that the expert corrects until it sees the effect
INTEGRAL = 0.3 / STIFFNESS[1]  # fixed gain [m/N per period]: stable on the stiffest surface


class ForceHoldTask(Task):
    """Press with a set force of 0.5 to 2 N on a surface of 400 to 3000 N/m that moves as a liver under ventilation.

    The surface moves up and down by 2.9 to 6.2 mm, 10 to 15 times per minute (Galmen et al. 2018). The time is 2 s.
    Success: the contact force is within 10 % of the set force for 0.5 s and has never exceeded 150 % of it. People
    distinguish forces that differ by 7 to 10 % (Jones 1989, Weber fraction of force); 2 N is the force of a study of
    liver damage by graspers. Beyond 150 % the episode ends.
    """

    observed: ClassVar[tuple[str, ...]] = ("wanted force", "measured force", *named(POINT, "tip"))
    duration: float = 2.0
    force_arms: ClassVar[tuple[str, ...]] = ("PSM",)
    varies: ClassVar[bool] = True
    batched: ClassVar[bool] = False

    def scene(self, rng: np.random.Generator, options: SceneOptions) -> Scene:
        q = rng.uniform(LOWER, UPPER)
        stiffness = float(np.exp(rng.uniform(*np.log(STIFFNESS))))
        arm = SceneArm(arm="PSM", base=np.eye(4), q=q, **options["PSM"])
        mechanism, _ = arm.loaded()
        tip = mechanism.forward_kinematics(q)
        lowest = (tip @ [0.0, 0.0, mechanism.arm.jaw_length, 1.0])[2]
        top = lowest - 2e-3 - rng.uniform(*GAP)  # the jaws are up to 2 mm wider than their axis
        amplitude, rate, phase = rng.uniform(*AMPLITUDE), rng.uniform(*BREATHS), rng.uniform(0.0, 2.0 * np.pi)
        pad = BreathingSolid(
            "pad",
            Box(np.zeros(3), PAD),
            pose(p=[*tip[:2, 3], top - amplitude * np.sin(phase) - PAD[2] / 2]),
            stiffness=stiffness,
            damping=2.0,
            amplitude=amplitude,
            rate=rate,
            phase=phase,
        )
        return Scene({"PSM": arm}, objects=[pad], timestep=PERIOD)

    def start(self, world: World, rng: np.random.Generator, sigma: float) -> Memory:
        wanted, own = rng.uniform(*FORCE), np.random.default_rng(int(rng.integers(2**31)))
        world.scene.reset()
        noise = NOISE * sigma * own.standard_normal(round(self.duration * RATE))  # of every control period [N]
        spread = {"noise": noise, "sigma": NOISE * sigma}
        return {"wanted": wanted, "force": 0.0, "measured": 0.0, "excess": False, **spread}

    def after_period(self, worlds: Worlds) -> None:
        memory = worlds.memory
        memory["force"] = worlds.each(lambda world: world.contact_force("PSM"))
        memory["measured"] = memory["force"] + memory["noise"][np.arange(worlds.n), worlds.elapsed - 1]
        memory["excess"] = memory["excess"] | (worlds.forces > (1.0 + MAX_OVERSHOOT) * memory["wanted"])

    def observation(self, worlds: Worlds) -> Values:
        """Set force, measured force, measured position of the tip."""
        forces = worlds.memory["wanted"][:, None], worlds.memory["measured"][:, None]
        return np.concatenate([*forces, worlds.tips("PSM")[:, :3, 3]], -1)

    def privileged(self, worlds: Worlds) -> Values:
        surface = worlds.each(lambda world: (float(_pad(world).stiffness or 0.0) / 1e3, _pad(world).height(world.time)))
        return np.concatenate([worlds.memory["force"][:, None], surface], -1)

    def solved(self, worlds: Worlds) -> Values:
        return abs(worlds.memory["force"] - worlds.memory["wanted"]) <= TOLERANCE * worlds.memory["wanted"]

    def failed(self, worlds: Worlds) -> Values:
        return worlds.memory["excess"]

    def reward(self, worlds: Worlds) -> Values:
        memory = worlds.memory
        missing = np.minimum(abs(memory["force"] - memory["wanted"]) / memory["wanted"], 1.0)
        return np.where(memory["excess"], -10.0, -missing)

    def expert(self, env: TaskEnv) -> Policy:
        """Follow the known motion of the surface, and correct the force with the estimated stiffness."""
        world = env.world
        arm, pad = world.arms["PSM"].arm, _pad(world)
        top = float(np.asarray(pad.pose)[2, 3]) + PAD[2] / 2
        wait = env.draw.delay + 2  # periods from a step of the command to its effect
        depths: list[float] = [0.0]  # commanded, from the surface when they take effect [m]
        pairs: list[tuple[float, float]] = []  # measured depth of the end of the jaws, and force [m, N]
        stiffness = STIFFEST
        followed, servo = _followed(env, pad)
        wanted, touched = float(world.value("wanted")), 3.0 * float(world.value("sigma")) + 0.05

        def policy(observation: object) -> Array:
            nonlocal stiffness
            end = world.T_world_measured("PSM") @ [0.0, 0.0, arm.jaw_length, 1.0]
            depth = top + pad.height(world.time) - float(end[2])
            pairs.append((depth, float(world.value("measured"))))
            touching = [pair for pair in pairs if pair[1] > touched]
            if not touching:
                coming = depths[-1] - depths[max(0, len(depths) - wait)]
                step = max(min(APPROACH * TIP_SPEED * env.period, -depth - NEAR - coming), SLOW)
            else:
                z, f = np.array(touching[-12:]).T
                if len(z) >= 4 and np.ptp(z) > 2e-5:
                    slope = float(np.polyfit(z, f, 1)[0])
                    stiffness = float(np.clip(slope, max(0.7 * stiffness, STIFFNESS[0]), STIFFEST))
                # a mean, and rest near the goal: the PID answers a step of the command with a kick
                missing = wanted - float(np.mean([force for _, force in pairs[-wait - 1 :]]))
                both = 1.0 / (1.0 / stiffness + 1.0 / servo)
                step = SHARE / wait * missing / both if abs(missing) > DEADBAND * wanted else 0.0
            step = float(np.clip(step, -FAST, FAST if touching else 1.0))
            depths.append(depths[-1] + step)
            k = min(len(depths) - 2 + wait, len(followed) - 1)
            rise = followed[k] - followed[k - 1]
            return _press((step - rise) / (TIP_SPEED * env.period))

        return policy

    def pid(self, env: TaskEnv) -> Policy:
        """Integral feedback of the force, stable on the stiffest surface."""

        def policy(observation: object) -> Array:
            missing = float(env.world.value("wanted") - env.world.value("measured"))
            return _press(INTEGRAL * missing / (TIP_SPEED * env.period))

        return policy


def _pad(world: World) -> BreathingSolid:
    pad = world.scene.objects["pad"].thing
    assert isinstance(pad, BreathingSolid)
    return pad


def _followed(env: TaskEnv, pad: BreathingSolid) -> tuple[Array, float]:
    """Heights (T,) to command in every period so that the tip follows the surface [m], and its stiffness [N/m].

    Under the PID of the arm the tip lags behind the command by the friction over the stiffness of the PID: on one side,
    and on the other after the surface has turned.
    """
    world = env.world
    hardware, mechanism, n = world.arms["PSM"], world.scene.arms["PSM"].mechanism, world.kinematics["PSM"].n
    periods = np.arange(round(env.task.duration / env.period) + MAX_WAIT)
    h = np.array([pad.height(world.time + k * env.period) for k in periods])
    J = mechanism.jacobian(hardware.q)
    q = np.tile(hardware.q, (len(h), 1))
    q[:, :n] += np.linalg.solve(J, np.outer(np.eye(n)[2], h - h[0])).T
    C, kp = hardware.arm.motors.coupling, np.array(hardware.arm.gains.kp)
    compliance = J[2] @ (C @ np.diag(1.0 / kp) @ C.T)[:n]  # [m] per joint effort
    friction = mechanism.friction_along(q, env.period)
    return h + friction @ compliance, float(1.0 / (compliance[:n] @ J[2]))


def _press(speed: float) -> Array:
    """Move down with closed jaws; speed as a share of the largest."""
    return np.array([0.0, 0.0, float(np.clip(-speed, -1.0, 1.0)), 0.0, 0.0, 0.0, jaw_action(0.0)])
