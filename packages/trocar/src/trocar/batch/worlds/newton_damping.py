"""Damped Newton steps of MuJoCo Warp's solver, whose matrix float32 cannot always factorise.

Contacts of light objects and the loops of an arm weigh up to 1e7 times the smallest inertia that they move. Rounded to
single precision, the matrix of Newton's method then has no Cholesky factor, and the step is not finite. A share of
1e-6 of its diagonal restores the factor. The step becomes shorter in the weakest directions; the solution, where the
gradient vanishes, stays the same. Worlds whose constraints are equalities alone, the loops of arms without contact, are
solved by a single step, which would be too short: they are not damped.
"""

# mypy: ignore-errors

from contextlib import AbstractContextManager

import warp as wp

from trocar.batch.worlds.mujoco_warp_internals import FACTORISE

DAMPING = 1e-6

wp.set_module_options({"enable_backward": False})


@wp.kernel
def enlarge_diagonal(
    share: float, equalities: wp.array(dtype=int), constraints: wp.array(dtype=int), h: wp.array3d(dtype=float)
):
    """Matrices (n, nv, nv) with a diagonal that is larger by a share, where constraints are not equalities alone."""
    w, i = wp.tid()
    if constraints[w] > equalities[w]:
        h[w, i, i] = h[w, i, i] * (1.0 + share)


def damped_newton() -> AbstractContextManager[None]:
    """Newton steps of this process are damped within this context."""
    plain = FACTORISE.plain

    def damped(m, d, ctx, *options, **named):
        wp.launch(enlarge_diagonal, dim=(d.nworld, m.nv), inputs=[DAMPING, d.ne, d.nefc, ctx.h])
        plain(m, d, ctx, *options, **named)

    return FACTORISE.replaced(damped)
