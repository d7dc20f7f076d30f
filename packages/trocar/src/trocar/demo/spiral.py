"""The PSM on the spiral of Ferro et al. 2022 under torque control, with and without its counterweight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

from trocar.appearance import Picture, Trace, render, render_video, view
from trocar.control.trajectories import CartesianPath
from trocar.demo.effort_figures import efforts, engine_and_model, tip_error
from trocar.demo.torque_control import (
    SETTLED,
    SPIRAL_OF_CODE,
    UNITS,
    Transient,
    model_torque,
    rms,
    spiral,
    torque_run,
)
from trocar.errors import TrocarError
from trocar.mechanics import Mechanism, load_mechanism
from trocar.plots import COLOURS, panels, style
from trocar.report import Claim, Report
from trocar.report.claim_table import ClaimTable
from trocar.simulation import Simulator
from trocar.spatial import Array

TABLE = ClaimTable("trocar.demo", prefix="")
DURATION, FILM, FPS = 4.0, 3.0, 10.0  # simulation [s], film [s], frames per second
# Printed RMS of engine minus model [N m, N m, N], with and without counterweight: Ferro et al. 2022, Section IV-B.
PRINTED = {True: (0.57, 0.27, 0.3), False: (0.59, 0.38, 3.3)}
NAMES = {True: "with counterweight", False: "without counterweight"}
PAINT = {True: COLOURS[0], False: COLOURS[1]}
PANEL = (400, 380)  # size of each of the film's two panels [pixels]
HEADER = 44  # height of the text above a panel [pixels]


def show(report: Report, output: Path, progress: Callable[[float], None]) -> list[Claim]:
    """Compute the claims; add figures and a film to the report and write the film to `output`."""
    mechanism, without = load_mechanism("PSM"), load_mechanism("PSM", counterweight=False)
    path = spiral(mechanism, SPIRAL_OF_CODE)
    transients: dict[bool, Transient] = {}
    for k, counterweight in enumerate((True, False)):
        transients[counterweight] = torque_run(mechanism, path, DURATION, counterweight=counterweight)
        progress(0.15 * (k + 1))
    film = _frames(path, transients, lambda fraction: progress(0.3 + 0.7 * fraction))
    try:
        report.add_clip(render_video(output / "spiral.gif", film, FPS), TABLE.text("film"))
    except TrocarError as error:
        report.paragraphs.append(f"No film: {error}")
    report.add_figure(_torques(mechanism, transients), TABLE.text("torques"))
    report.add_figure(_errors(transients), TABLE.text("errors"))
    return _claims(mechanism, without, transients)


def _claims(mechanism: Mechanism, without: Mechanism, transients: dict[bool, Transient]) -> list[Claim]:
    recording = transients[False].recording
    state = recording.q, recording.dq, np.asarray(recording.ddq)
    weight = (mechanism.inverse_dynamics(*state) - without.inverse_dynamics(*state))[recording.t >= SETTLED, 2]
    errors = _rms(transients[False])
    j3 = "spiral, without counterweight: J3, engine minus equations"
    return [
        *TABLE.claims("spiral, with counterweight: {row}", _rms(transients[True])),
        *TABLE.claims("spiral, without counterweight: {row}", errors[:2]),
        TABLE.claim(j3, abs(errors[2] - rms(weight)), missing_weight=errors[2]),
        TABLE.claim("spiral: distance from linear error", transients[True].deviation),
    ]


def _rms(transient: Transient) -> Array:
    """RMS of engine minus model (3,) after the transient [N m, N m, N]."""
    return rms(transient.mismatch[transient.recording.t >= SETTLED])


def _torques(mechanism: Mechanism, transients: dict[bool, Transient]) -> Figure:
    rows, titles = [], []
    for counterweight, transient in transients.items():
        recording, errors, paper = transient.recording, _rms(transient), PRINTED[counterweight]
        rows.append(engine_and_model(recording, model_torque(mechanism, recording)))
        texts = [f"J{j + 1}: RMS difference {errors[j]:.3g} {UNITS[j]} (paper {paper[j]:g})" for j in range(len(UNITS))]
        titles.append([f"{NAMES[counterweight]}\n{texts[0]}", *texts[1:]])
    return efforts(rows, titles)


@style()
def _errors(transients: dict[bool, Transient]) -> Figure:
    figure, (first, second) = panels((11.0, 2.9), 1, 2)
    tip_error(first, transients[True], 0.35)
    first.set(title="tip error after the jump onto the spiral [mm]")
    first.legend()
    for counterweight, transient in transients.items():
        distance = 1e3 * np.linalg.norm(transient.error, axis=1)
        second.semilogy(transient.recording.t, distance, color=PAINT[counterweight], label=NAMES[counterweight])
    second.set(title="distance of the tip from its target on the spiral [mm]", xlabel="t [s]")
    second.legend()
    return figure


def _frames(
    path: CartesianPath, transients: dict[bool, Transient], progress: Callable[[float], None]
) -> Iterator[Picture]:
    """Pictures of both runs side by side."""
    sim = Simulator("PSM", contacts=False)
    wanted = np.array([path(t).T[:3, 3] for t in np.linspace(0.0, FILM, 200)])
    camera = view(sim, "iso")
    camera.lookat, camera.distance = wanted.mean(axis=0) + [0.0, -0.02, 0.055], 0.34
    camera.azimuth, camera.elevation = 150.0, -14.0
    steps = np.arange(0.0, FILM, 1.0 / FPS)
    for i, t in enumerate(steps):
        panels = []
        for counterweight, transient in transients.items():
            recording = transient.recording
            k = int(np.searchsorted(recording.t, t))
            sim.place(np.clip(recording.q[k], sim.arm.lower, sim.arm.upper))
            traces = [Trace(wanted, (0.15, 0.15, 0.15, 1.0), 1.5)]
            if k:
                travelled = recording.extra["tip"][: k + 1 : 10]
                traces.append(Trace(travelled, to_rgba(PAINT[counterweight]), 3.0))
            image = render(sim, camera, PANEL, traces=traces, shadows=False)
            error = 1e3 * float(np.linalg.norm(transient.error[k]))
            panels.append(_titled(image, NAMES[counterweight], f"t {t:4.1f} s    error {error:6.2f} mm"))
        progress((i + 1) / len(steps))
        yield np.hstack(panels)


def _titled(image: Picture, title: str, text: str) -> Picture:
    """The picture with two lines of text above it."""
    framed = Image.new("RGB", (image.shape[1], image.shape[0] + HEADER), "white")
    framed.paste(Image.fromarray(image), (0, HEADER))
    draw = ImageDraw.Draw(framed)
    draw.text((12, 6), title, "black", ImageFont.load_default(17))
    draw.text((12, 26), text, "#555555", ImageFont.load_default(13))
    return np.asarray(framed)
