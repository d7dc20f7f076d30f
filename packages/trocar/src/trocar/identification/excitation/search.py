"""Excitation: a periodic motion within limits that excites an arm's base parameters as well as possible."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from trocar.control.trajectories import Fourier, fourier
from trocar.errors import TrocarError
from trocar.identification.excitation.criterion import Criterion, MotorEfforts
from trocar.identification.excitation.limits import ExcitationLimits
from trocar.spatial import Array

SAMPLES = 12  # samples of the criterion per harmonic and period, plus one: 73 for six harmonics, as in Wang et al. 2019
GRID = 20  # samples of the limits per harmonic and period
DENSE = 2000  # samples per period on which a result is checked
NORMS = ((2.0, 60), (16.0, 100))  # Schatten norm and iterations of each stage of a start


@dataclass(frozen=True, kw_only=True, eq=False)
class Excitation:
    """A periodic motion found by `excite`.

    Attributes:
        motion: the Fourier series, a reference.
        condition_number: condition number of its regressor, columns divided by their ranges. parameters: number of
            columns.
        violation: largest excess over a limit on the dense grid, efforts included, relative; not positive.
        effort: (n,) largest effort of each motor on the dense grid, by the arm's model [N m, N].
        starts: final condition number of each start, in order (infinite: outside the limits).
        iterations: total number. seconds: total time.
    """

    motion: Fourier
    condition_number: float
    parameters: int
    violation: float
    effort: Array
    starts: tuple[float, ...]
    iterations: int
    seconds: float


def excite(
    criterion: Criterion,
    limits: ExcitationLimits,
    *,
    harmonics: int = 6,
    frequency: float = 0.18,
    starts: int = 6,
    iterations: float = 1.0,
    seconds: float = np.inf,
    seed: int = 0,
    first: Fourier | None = None,
    progress: Callable[[float], None] | None = None,
) -> Excitation:
    """Fourier series of least condition number (or largest determinant) within the limits, from several starts.

    Each start is a random motion within the limits, optimised by SLSQP with exact gradients, column scaling included;
    first in the Frobenius norm, which is smooth, then in a Schatten norm near the spectral one. Limits of position and
    velocity are linear in the coefficients. They are imposed on a grid of 20 times per harmonic, tightened by
    cos(pi/20): a trigonometric polynomial cannot exceed its values on the grid by more, so the motion is within them
    at all times. Efforts of the motors, by the model of the criterion's mechanism, are imposed at the criterion's
    samples; a result that exceeds them in between is shrunk towards the middle until it satisfies them on the dense
    grid.

    Args:
        harmonics: number of harmonics in the Fourier series. frequency: of the first [Hz].
        starts: number of starts. iterations: multiple of 60 and 100 of SLSQP in the two stages of a start.
        seconds: time budget; the best result so far is then returned.
        first: initial motion before the random ones, such as the result of an earlier search.
        progress: called with the completed fraction.

    Raises TrocarError if no start ends within the limits.
    """
    problem = ExcitationProblem(criterion, limits, harmonics, frequency)
    for name, value in (("starts", starts), ("iterations", iterations), ("seconds", seconds)):
        if not value > 0:
            raise TrocarError(f"{name} must be positive, got {value}")
    rng, begin = np.random.default_rng(seed), time.monotonic()
    search = _Descents(problem, begin + seconds, progress, starts * sum(count for _, count in NORMS) * iterations)
    ends: list[float] = []
    for k in range(starts):
        x = problem.coefficients(first) if first is not None and k == 0 else problem.random(rng)
        ends.append(search.descend(x, [(p, max(1, round(iterations * count))) for p, count in NORMS]))
        if search.over:
            break
    if search.best is None:
        raise TrocarError(
            f"none of {len(ends)} starts ended within the limits; use wider limits, more iterations or more seconds"
        )
    motion = problem.motion(search.best)
    return Excitation(
        motion=motion,
        condition_number=problem.condition_number(search.best),
        parameters=len(criterion),
        violation=problem.violation(search.best),
        effort=problem.effort(search.best),
        starts=tuple(ends),
        iterations=search.iterations,
        seconds=time.monotonic() - begin,
    )


def sampled(motion: Fourier, count: int) -> tuple[Array, Array, Array]:
    """q, dq, ddq (count, n) over one period, both ends included."""
    states = motion(np.linspace(0.0, motion.duration, count))
    return states.q, states.dq, states.ddq


class ExcitationProblem:
    """Coefficients x: for each joint centre, a_1.., b_1.., in units of its half range and of its velocity limit."""

    def __init__(self, criterion: Criterion, limits: ExcitationLimits, harmonics: int, frequency: float) -> None:
        arm = criterion.mechanism.arm
        if limits.A.shape[1] != arm.n:
            raise TrocarError(f"{arm.name} has {arm.n} joints, the limits are for {limits.A.shape[1]}")
        if harmonics != int(harmonics) or harmonics < 1:
            raise TrocarError(f"harmonics must be a whole number, 1 or more, got {harmonics!r}")
        if not (np.isfinite(frequency) and frequency > 0):
            raise TrocarError(f"frequency must be positive [Hz], got {frequency!r}")
        self.criterion, self.limits, self.K, self.frequency = criterion, limits, int(harmonics), float(frequency)
        unknowns, rows = (2 * self.K + 1) * arm.n, (self.K * SAMPLES + 1) * arm.n
        if rows < len(criterion):
            raise TrocarError(f"{unknowns} coefficients cannot excite {len(criterion)} parameters; use more harmonics")
        n = arm.n
        joints = [limits.names.index(name) for name in arm.joint_names]
        self._middle = limits.middle[joints]
        self._unit = np.vstack([limits.half[joints], np.tile(limits.velocity[joints], (2 * self.K, 1))])
        self._basis = self._bases(np.linspace(0.0, 1.0, self.K * SAMPLES + 1))
        grid = self._bases(np.arange(GRID * self.K) / (GRID * self.K))
        inside = np.cos(np.pi / GRID)
        # |G x + h| <= 1, positions then velocities, row by row
        G, h = [], []
        for i, row in enumerate(limits.A):
            weights = row * self._unit
            for basis, size in ((grid[0], limits.half[i]), (grid[1], limits.velocity[i])):
                G.append((basis[:, :, None] * weights).reshape(len(basis), -1) / (size * inside))
            away = (row @ self._middle - limits.middle[i]) / (limits.half[i] * inside)
            h += [np.full(len(grid[0]), away), np.zeros(len(grid[0]))]
        self._G, self._h = np.vstack(G), np.concatenate(h)
        self.n = n
        self._room: tuple[Array, Array, Array] | None = None
        if np.abs(self._h).max() >= 1.0:
            i = int(np.abs(self._h).argmax()) // (2 * len(grid[0]))
            raise TrocarError(f"no room for {limits.names[i]}: its limits and those of the joints exclude each other")
        self._efforts = MotorEfforts(criterion.mechanism)
        held = np.abs(self._efforts(*(x[None] for x in (self._middle, *np.zeros((2, n)))))[0]) / limits.effort
        if held.max() >= 1.0:
            raise TrocarError(
                f"motor {limits.motors[int(held.argmax())]} needs {held.max():.0%} of the allowed effort to hold the "
                "arm in the middle of its limits; move the limits or allow more effort"
            )
        slopes = np.vstack([-self._G, self._G])
        self.constraints = (
            {
                "type": "ineq",
                "fun": lambda x: 1.0 - np.concatenate([self._G @ x + self._h, -self._G @ x - self._h]),
                "jac": lambda x: slopes,
            },
            {"type": "ineq", "fun": lambda x: self.effort_room(x)[0], "jac": lambda x: self.effort_room(x)[1]},
        )

    def objective(self, x: Array, p: float) -> tuple[float, Array]:
        """Value and gradient."""
        value, gradient = self.criterion.gradient(*self._states(x), p)
        dX = sum(basis.T @ part for basis, part in zip(self._basis, gradient, strict=True)) * self._unit
        return value, dX.ravel()

    def effort_room(self, x: Array) -> tuple[Array, Array]:
        """Effort margin of each motor at every sample, as a fraction of its limit, and its derivative by x."""
        if self._room is not None and np.array_equal(self._room[0], x):
            return self._room[1:]
        u, du = self._efforts.with_derivatives(*self._states(x))
        limit = self.limits.effort
        # motor i at sample t, by the coefficient c of joint j
        slope = np.einsum("dtc,dtij,cj->ticj", np.stack(self._basis), du / limit[:, None], self._unit, optimize=True)
        slope, u = slope.reshape(u.size, -1), (u / limit).ravel()
        self._room = x.copy(), 1.0 - np.concatenate([u, -u]), np.vstack([-slope, slope])
        return self._room[1:]

    def condition_number(self, x: Array) -> float:
        return self.criterion.condition_number(*self._states(x))

    def effort(self, x: Array) -> Array:
        """(n,) largest of each motor over a period [N m, N]."""
        return np.abs(self._efforts(*sampled(self.motion(x), DENSE))).max(0)

    def violation(self, x: Array) -> float:
        q, dq, _ = sampled(self.motion(x), DENSE)
        return max(self.limits.violation(q, dq)[0], float((self.effort(x) / self.limits.effort).max()) - 1.0)

    def inside(self, x: Array) -> Array:
        """x shrunk towards the middle by its limit violation, due to rounding or to efforts between the samples."""
        d = self._G @ x
        room = 1.0 - np.sign(d) * self._h
        return self._within_efforts(x * min(1.0, 1.0 / float((np.abs(d) / room).max())))

    def _within_efforts(self, x: Array) -> Array:
        """The largest multiple of x up to 1, to 1/1000, whose efforts are within limits; x itself if there is none."""
        if self._strong_enough(x):
            return x
        low, high = 0.0, 1.0
        for _ in range(10):
            part = 0.5 * (low + high)
            low, high = (part, high) if self._strong_enough(part * x) else (low, part)
        return low * x if low > 0.0 else x

    def _strong_enough(self, x: Array) -> bool:
        return bool((self.effort(x) <= self.limits.effort).all())

    def random(self, rng: np.random.Generator) -> Array:
        """A motion of random harmonics that reaches nine tenths of a limit of position or velocity."""
        x = rng.normal(size=(2 * self.K + 1, self.n))
        x[0] = 0.0
        x[1:] /= np.sqrt(np.tile(np.arange(1, self.K + 1), 2))[:, None]
        d = self._G @ x.ravel()
        return x.ravel() * 0.9 / float((np.abs(d) / (1.0 - np.sign(d) * self._h)).max())

    def motion(self, x: Array) -> Fourier:
        X = x.reshape(-1, self.n) * self._unit
        return fourier(self._middle + X[0], X[1 : self.K + 1], X[self.K + 1 :], self.frequency)

    def coefficients(self, motion: Fourier) -> Array:
        """Coefficients x of a motion, which may have fewer harmonics or a different frequency."""
        if motion.centre.size != self.n or len(motion.a) > self.K:
            raise TrocarError(
                f"the initial motion has {motion.centre.size} joints and {len(motion.a)} harmonics, "
                f"this search {self.n} and {self.K}"
            )
        X = np.zeros((2 * self.K + 1, self.n))
        X[0] = motion.centre - self._middle
        X[1 : len(motion.a) + 1], X[self.K + 1 : self.K + 1 + len(motion.b)] = motion.a, motion.b
        return self.inside((X / self._unit).ravel())

    def _states(self, x: Array) -> tuple[Array, Array, Array]:
        X = x.reshape(-1, self.n) * self._unit
        q, dq, ddq = (basis @ X for basis in self._basis)
        return self._middle + q, dq, ddq

    def _bases(self, phase: Array) -> tuple[Array, Array, Array]:
        """(N, 2 K + 1) each: q, dq, ddq of unit coefficients at phases in [0, 1]."""
        k = np.arange(1, self.K + 1)
        w = 2.0 * np.pi * self.frequency * k
        sine, cosine = (f(2.0 * np.pi * np.outer(phase, k)) for f in (np.sin, np.cos))
        one = np.ones((len(phase), 1))
        return (
            np.hstack([one, sine / w, -cosine / w]),
            np.hstack([0.0 * one, cosine, sine]),
            np.hstack([0.0 * one, -sine * w, cosine * w]),
        )


class _OutOfTime(Exception):
    pass


class _Descents:
    """Optimisation from several starts under one budget; `best` is the best x within the limits so far."""

    def __init__(
        self, problem: ExcitationProblem, deadline: float, progress: Callable[[float], None] | None, budget: float
    ) -> None:
        self.problem, self.deadline, self.progress, self.budget = problem, deadline, progress, budget
        self.begin = time.monotonic()
        self.best: Array | None = None
        self.score = np.inf
        self.iterations, self.over, self._planned = 0, False, 0.0

    def descend(self, x: Array, stages: Sequence[tuple[float, int]]) -> float:
        """The smallest condition number at the end of a stage of the optimisation from x."""
        self._last, least = x, np.inf
        for p, count in stages:
            before = self.iterations
            try:
                solution = scipy.optimize.minimize(
                    self._objective,
                    x,
                    (p,),
                    jac=True,
                    method="SLSQP",
                    constraints=self.problem.constraints,
                    callback=self._count,
                    options={"maxiter": count, "ftol": 1e-6},
                )
                x = solution.x
            except _OutOfTime:
                self.over = True
            self._planned += count - (self.iterations - before)  # iterations that were not needed
            x = self.problem.inside(self._last if self.over else x)
            least = min(least, self._take(x))
            if self.over:
                break
        return least

    def _objective(self, x: Array, p: float) -> tuple[float, Array]:
        if time.monotonic() > self.deadline:
            raise _OutOfTime
        return self.problem.objective(x, p)

    def _count(self, x: Array) -> None:
        self.iterations += 1
        self._last = x.copy()
        if self.progress is not None:
            done = (self.iterations + self._planned) / self.budget
            spent = (time.monotonic() - self.begin) / (self.deadline - self.begin)
            self.progress(min(1.0, max(done, spent)))

    def _take(self, x: Array) -> float:
        """Keep x if it is the best; return its condition number, infinite outside the limits."""
        if not np.isfinite(x).all() or self.problem.violation(x) > 0.0:
            return np.inf
        condition = self.problem.condition_number(x)
        score = condition if self.problem.criterion.objective == "condition" else self.problem.objective(x, 2.0)[0]
        if score < self.score:
            self.score, self.best = score, x
        return condition
