"""`trocar bench`: benchmarks of trocar on this machine."""

from __future__ import annotations

from typing import Annotated

from trocar.commands.options import JsonFile, argument, flag, option
from trocar.commands.terminal import plain_errors, progress_bar, show_table
from trocar.errors import TrocarError, check_known
from trocar.files import check_writable, write_json


@plain_errors()
def bench(
    what: Annotated[
        str,
        argument("[batch|crtk]", "Generated steps of many arms, or a dVRK under its controllers.", show_default=False),
    ] = "",
    json_file: JsonFile = None,
    rounds: Annotated[
        int | None,
        option("N", "Repetitions; the median is reported. Default: 30, with crtk 5.", min=1, show_default=False),
    ] = None,
    noisy: Annotated[bool, flag("Report figures of a machine on which other programs run.", "--noisy")] = False,
    gpu: Annotated[bool, flag("With batch: also time the CUDA kernels on the first NVIDIA GPU.", "--gpu")] = False,
) -> None:
    """Measure how fast trocar runs on this machine.

    Example: [bold]trocar bench --json figures.json[/bold]. It takes less than a minute on an idle machine.
    The bare calls to MuJoCo and Pinocchio are timed in the same run, in turn with those of trocar.

    Names end in their unit: _us is microseconds per call, _us_per_state is microseconds per state in a batch of 10,000,
    and _over_ is a ratio to the bare call (mj_step: MuJoCo's step; pinocchio: the library calls on the same tree).
    The real-time factor is for a timestep of 1 ms. scene_cart_classic is three PSMs and an ECM in one model; its stereo
    images are 640 x 480 at 30 Hz, and are skipped if this machine cannot render.

    The uncertainty is half of the median's 95 % interval. Where a ratio is uncertain by more than 3 %, because other
    programs run, the command writes no file and ends with an error.

    [bold]trocar bench batch[/bold] times steps in generated code: c_step_us in a rollout of one arm,
    c_step_over_mj_step called from Python, c_batch per arm in a batch of 4,096 on one core, and JAX if installed.

    [bold]trocar bench crtk[/bold] runs a Classic dVRK of six arms under its 1500 Hz controllers. It reports the
    real-time factor while the arms hold and move, and the share of late cycles in real time next to that of an
    empty loop.

    Sweeps, ROS, teleoperation and pages are timed in a checkout: [bold]python -m tools.bench NAME[/bold].
    """
    from trocar.bench import batch_figures, check_quiet, crtk_figures, figures, scene_figures, step_figures

    if what:
        check_known("figures of bench:", ("batch", "crtk"), what)
    if gpu and what != "batch":
        raise TrocarError("--gpu requires batch: trocar bench batch --gpu")
    check_writable(json_file)
    rounds = rounds or (5 if what == "crtk" else 30)
    with progress_bar("bench") as progress:
        if what == "batch":
            values = batch_figures(rounds=rounds, gpu=gpu)
            progress(1.0)
        elif what == "crtk":
            values = crtk_figures(rounds=rounds, progress=progress)
        else:
            values = figures(rounds=rounds, progress=progress)
            for arm in ("ECM", "MTMR"):
                values |= step_figures(arm, rounds=rounds)
            values |= scene_figures("cart_classic", rounds=rounds)
    rows = [(name, f"{x.value:.4g}", f"{100 * x.spread:.2g} %" if x.spread else "") for name, x in values.items()]
    show_table("trocar bench", ("figure", "median", "uncertainty"), rows)
    if not noisy:
        check_quiet(values)
    if json_file is not None:
        spreads = {f"{name}_spread": x.spread for name, x in values.items() if x.spread}
        write_json(json_file, {name: x.value for name, x in values.items()} | spreads)
