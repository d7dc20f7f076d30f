"""Odd values for every public name of `trocar.batch` give a result or a clear one-line error, nothing else.

TROCAR_FUZZ=N tries N values per name instead of a few dozen; TROCAR_FUZZ_SEED=N selects other values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import trocar as tr
from tests.support.odd_calls import Caller, check_line, finite
from tests.support.odd_values import INPUTS, SEED, python_nonsense, rounds
from trocar import batch
from trocar.errors import TrocarError

DT = 1e-3  # [s]


@cache
def arms() -> batch.BatchArms:
    """Arms of one kind, compiled once."""
    return batch.load("ECM", "gondokaryono2019")


@cache
def scenes() -> batch.SceneRollouts:
    return batch.SceneRollouts(tr.Simulator("ECM", "gondokaryono2019", accuracy="fast"))


class BatchCaller(Caller):
    """Makes arguments of batches: joints first, arms last."""

    def joints(self, scale: float = 1.0) -> Any:
        """Values (n,) or (n, N), often of another type or shape."""
        rng, n = self.rng, self.arm.n
        kind = rng.integers(10)
        if kind == 0:
            return python_nonsense(rng)
        if kind == 1:
            return self.state()
        size = n if rng.integers(2) else (n, int(rng.integers(0, 4)))
        values = scale * rng.normal(size=size)
        if kind == 2:
            return values.astype(rng.choice(["f2", "f4", "i4", "O", "c16", "U8", "?"]))
        if kind == 3:
            return np.ma.array(values, mask=rng.integers(0, 2, values.shape))
        if kind == 4 and values.size:
            values.flat[rng.integers(values.size)] = rng.choice([np.nan, np.inf, 1e10, 1e81, 1e308])
        return values

    def over_time(self, scale: float = 1.0) -> Any:
        """Values (T, n) or (T, n, N), often wrong."""
        if self.rng.integers(4) == 0:
            return self.joints(scale)
        size = (int(self.rng.integers(0, 4)), self.arm.n)
        return scale * self.rng.normal(size=size if self.rng.integers(2) else (*size, 2))

    def initial(self) -> Any:
        """A state of one or two arms; sometimes none, or one of other arms."""
        kind = self.rng.integers(8)
        home = np.array(self.arm.home)
        if kind == 0:
            return python_nonsense(self.rng)
        if kind == 1:
            return other_state()
        return arms().state(home if kind < 5 else np.tile(home[:, None], (1, 2)))

    def dt(self) -> Any:
        return DT if self.rng.integers(3) else self.value()

    def steps(self) -> Any:
        return self.pick(None, 2, self.short())

    def short(self) -> Any:
        """Nonsense, but nothing that would run for minutes."""
        value = self.odd()
        return min(value, 5) if isinstance(value, int | float) and not isinstance(value, bool) else value

    def flag(self) -> Any:
        return self.pick(True, False, self.odd())

    def pick(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]


@cache
def other_state() -> batch.BatchState:
    other = batch.load("ECM", "gondokaryono2019", friction=False, limits=False)
    return other.state(np.array(other.mechanism.arm.home))


def loaded(c: BatchCaller) -> None:
    """Loading compiles nothing."""
    options = {
        "backend": lambda: c.pick("c", c.word()),
        "friction": c.flag,
        "limits": c.flag,
        "motor_limits": c.flag,
        "surfaces": lambda: c.pick((), [surface(c)], c.odd()),
        "precision": lambda: c.pick(None, "float32", c.word()),
        "threads": lambda: c.pick(1, c.value()),
        "gravity": lambda: c.pick([0.0, 0.0, -9.81], c.odd()),
        "mounting": lambda: c.pick(0.1, c.value()),
        "instrument": c.word,
        "added_mass": c.value,
    }
    chosen = {name: make() for name, make in options.items() if c.rng.integers(4) == 0}
    batch.load(c.pick("ECM", "ECM", c.word()), c.pick(None, "gondokaryono2019", c.word()), **chosen)


def surface(c: BatchCaller) -> Any:
    values = {"stiffness": c.value, "damping": c.value, "friction": c.value}
    chosen: dict[str, Any] = {name: make() for name, make in values.items() if c.rng.integers(3) == 0}
    vector = c.pick([0.0, 0.0, 1.0], c.rng.normal(size=3), c.rng.normal(size=(3, 2)), c.odd())
    if c.rng.integers(2):
        made = batch.Plane(normal=vector, offset=c.value(), **chosen)
    else:
        made = batch.Sphere(centre=vector, radius=c.value(), **chosen)
    made.values()
    return made


def controlled(c: BatchCaller) -> Any:
    q_ref = c.pick(c.over_time(0.1), c.joints(0.1), None)
    kinds: list[Callable[[], Any]] = [
        lambda: batch.JointPD(q_ref, c.pick(10.0, c.joints()), c.pick(1.0, c.value())),
        lambda: batch.JointPID(q_ref, kp=c.pick(None, c.joints()), ki=c.pick(None, c.value())),
        lambda: batch.ComputedTorque(q_ref, c.pick(10.0, c.joints()), 1.0, model=c.pick("nominal", "own", c.word())),
    ]
    return rolled(c, c.pick(*kinds)())


def rolled(c: BatchCaller, tau: Any) -> Any:
    options = {"every": lambda: c.pick(1, c.short()), "log": c.flag, "t0": c.value}
    chosen: dict[str, Any] = {name: make() for name, make in options.items() if c.rng.integers(3) == 0}
    tau = None if tau is max else tau  # errors raised by a caller's own function are not trocar's
    state, log = arms().rollout(c.initial(), tau, c.dt(), c.steps(), **chosen)
    if log is None:
        return state.q
    return state.q, state.dq, log.q, log.tau, log.recording(c.pick(0, c.short())).q


def stepped(c: BatchCaller) -> Any:
    state = arms().step(c.initial(), c.joints(), c.dt())
    return state.q, state.dq


def function_of_state(c: BatchCaller) -> Any:
    result = c.joints()
    return rolled(c, lambda state, t: result)


def stepped_in_place(c: BatchCaller) -> Any:
    step = arms().in_place(c.initial(), c.dt())
    step()
    return np.array(step.rows)


def with_parameters(c: BatchCaller) -> Any:
    names = [*arms().parameters, c.word() if isinstance(c.word(), str) else "mass"]
    name = str(names[c.rng.integers(len(names))])
    value = c.pick(c.value(), c.odd(), 2.0 * arms().parameters[name] if name in arms().parameters else 1.0)
    changed = arms().with_parameters(**{name: value}).parameters
    return {key: np.asarray(changed[key]) for key in changed}


def gradients(c: BatchCaller) -> Any:
    """Valid arguments, of which a third are replaced."""
    n, home = c.arm.n, np.array(c.arm.home)
    usual = [arms().state(home), 0.1 * c.rng.normal(size=(2, n)), DT, c.rng.normal(size=n), None, ()]
    odd: list[Callable[[], Any]] = [c.initial, c.over_time, c.dt, c.joints, c.joints]
    odd.append(lambda: c.pick(("payload",), [c.word()], c.odd()))
    arguments = [make() if c.rng.integers(3) == 0 else value for value, make in zip(usual, odd, strict=True)]
    return arms().gradients(*arguments)


def scene(c: BatchCaller) -> Any:
    home = np.tile(np.array(c.arm.home)[:, None], (1, 2))
    state = scenes().state(c.pick(home, c.joints(0.1)), c.pick(None, c.joints(0.1)))
    if c.rng.integers(6) == 0:
        state = c.odd()
    end, log = scenes().rollout(state, c.over_time(), every=c.pick(1, c.short()))
    return end.q, end.dq, log.q


def scene_options(c: BatchCaller) -> None:
    options = {"threads": c.value, "mass": c.odd, "gravity": c.odd, "friction": c.odd}
    chosen: Any = {name: make() for name, make in options.items() if c.rng.integers(2)}
    batch.SceneRollouts(c.pick(scenes().sim, scenes().sim, c.odd()), **chosen)


DOORS: dict[str, Callable[[BatchCaller], Any]] = {
    "load": loaded,
    "state": lambda c: (s := arms().state(c.joints(), c.pick(None, c.joints()))) and (s.q, s.dq),
    "reset": lambda c: arms().reset(c.initial(), c.pick([True, False], True, c.odd()), c.joints()).q,
    "step": stepped,
    "in_place": stepped_in_place,
    "rollout": lambda c: rolled(c, c.pick(c.over_time(), c.joints(), c.odd())),
    "rollout_function": function_of_state,
    "controllers": controlled,
    "gradients": gradients,
    "with_parameters": with_parameters,
    "surfaces": lambda c: surface(c) and None,
    "forward_dynamics": lambda c: arms().forward_dynamics(c.joints(), c.joints(), c.joints()),
    "mass_matrix": lambda c: arms().mass_matrix(c.joints()),
    "bias": lambda c: arms().bias(c.joints(), c.joints()),
    "tip_pose": lambda c: arms().tip_pose(c.joints()),
    "jacobian": lambda c: arms().jacobian(c.joints()),
    "scenes": scene,
    "scene_options": scene_options,
}


@pytest.mark.parametrize("door", DOORS)
def test_odd_values_of_a_batch_give_an_answer_or_one_clear_line(door: str) -> None:
    rng = np.random.default_rng([SEED, sum(door.encode())])
    arm = tr.load_arm("ECM")
    answered = 0
    for k in range(rounds(80)):
        state = rng.bit_generator.state
        INPUTS[f"batch: {door}"] += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                finite(DOORS[door](BatchCaller(rng, arm)))
            answered += 1
        except TrocarError as error:
            check_line(error)
        except Exception as error:
            error.add_note(f"door {door}, case {k}, seed {SEED}, generator {state['state']}")
            raise
    assert answered > 0


def test_missing_efforts_are_not_taken_for_zero() -> None:
    state = arms().state(np.array(arms().mechanism.arm.home))
    for call in (lambda: arms().step(state, None, DT), lambda: arms().rollout(state, None, DT, 2)):
        with pytest.raises(TrocarError, match=r"must be an array of (efforts|numbers)"):
            call()


def test_an_array_of_time_steps_is_refused_after_a_single_step_too() -> None:
    """The function of single steps is kept for the next one of the same length."""
    state = arms().state(np.array(arms().mechanism.arm.home))
    for _ in range(2):
        state = arms().step(state, np.zeros(arms().n), DT)
        with pytest.raises(TrocarError, match="dt must be"):
            arms().step(state, np.zeros(arms().n), np.full((2, 2), DT))  # type: ignore[arg-type]
