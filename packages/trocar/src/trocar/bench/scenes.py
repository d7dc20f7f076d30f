"""Speed of a scene of several arms, with and without stereo images."""

from __future__ import annotations

from contextlib import suppress

from trocar.appearance.endoscope_camera import StereoEndoscope
from trocar.bench.arm import held, simulation_calls, step_calls
from trocar.bench.timing import TIMESTEP, TimedCall, Timing, named_figures, timed
from trocar.errors import TrocarError
from trocar.mechanics import load_mechanism
from trocar.simulation import load_scene

STEREO_RATE = 30.0  # pairs of images [1/s]


def scene_figures(name: str = "cart_classic", rounds: int = 30, steps: int = 200) -> dict[str, Timing]:
    """Speed of a scene with all arms held at their start, compared with one PSM and the bare engine in the same run.

    With stereo: 33 steps of 1 ms, then both images of an endoscope, 640 x 480, without shadows and multisampling;
    skipped if this machine cannot render.
    """
    scene = load_scene(name, timestep=TIMESTEP)
    efforts = {key: held(load_mechanism(a.arm.name, gravity=a.gravity_vector), a.q) for key, a in scene.arms.items()}
    calls = step_calls(scene, scene.reset, efforts, steps)
    calls["psm_step"] = simulation_calls(load_mechanism("PSM"), steps)["step"]
    names = ["mj_step_us", "step_us", "step_over_mj_step", "step_over_psm_step", "real_time_factor"]
    with suppress(TrocarError):  # no endoscope, or no rendering
        stereo = StereoEndoscope(scene)
        stereo.pair()
        calls["stereo_pair"] = TimedCall(stereo.pair, 1)
        names += ["stereo_pair_us", "real_time_factor_with_stereo"]
    us = timed(calls, rounds)
    if "stereo_pair" in us:
        us["step_with_stereo"] = us["step"] + us["stereo_pair"] * STEREO_RATE * TIMESTEP
    return named_figures(names, us, f"scene_{name}")
