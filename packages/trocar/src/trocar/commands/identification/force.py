"""`trocar force`: forces at the tip from joint efforts, with intervals, scored against a sensor if there is one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trocar as tr
from trocar.commands.options import (
    Instrument,
    JsonFile,
    Mounting,
    Namespace,
    ParameterSet,
    RecordedArm,
    argument,
    numbers,
    option,
)
from trocar.commands.terminal import plain_errors, show_table, show_written
from trocar.errors import TrocarError
from trocar.files import check_writable, write_json

if TYPE_CHECKING:
    from trocar.control.observers import FreeResiduals, SensorScore, TipForces
    from trocar.mechanics import Mechanism
    from trocar.spatial import Array

AXES = ("x", "y", "z")


@plain_errors()
def force(
    recording: Annotated[Path, argument("RECORDING", "Recording with efforts: csv, npz, or a ROS bag.")],
    arm: RecordedArm = None,
    namespace: Namespace = None,
    parameters: ParameterSet = None,
    instrument: Instrument = None,
    mounting: Mounting = None,
    free: Annotated[
        tuple[float, float] | None, option("START END", "Part of RECORDING without contact, in seconds.")
    ] = None,
    free_recording: Annotated[Path | None, option("FILE", "Another recording, without contact.")] = None,
    bandwidth: Annotated[float, option("RAD/S", "Bandwidth of the momentum observer.")] = 10.0,
    port: Annotated[float, option("N", "Friction in the port that the free motion does not contain.")] = 0.0,
    sensor: Annotated[
        str | None, option("NAME", "Force sensor: topic of a bag, or channel. Default: the only one.")
    ] = None,
    rotation: Annotated[
        str | None, option("W,X,Y,Z", "Quaternion of the sensor's axes in the base. Default: fitted.")
    ] = None,
    output: Annotated[
        Path | None, option("FILE", "Write the recording with its forces (csv, npz).", "--output", "-o")
    ] = None,
    plot: Annotated[Path | None, option("FILE", "Write a figure (png, svg, pdf).")] = None,
    json_file: JsonFile = None,
) -> None:
    """Estimate the force at the tip from recorded joint efforts.

    Example: [bold]trocar force palpation.bag --arm PSM -p mine.toml --free 0 12 -o forces.csv --plot forces.png[/bold].

    A momentum observer finds the effort of yaw, pitch and insertion that the model does not explain; the force at the
    tip follows from it, in the axes of the arm's base, positive on the arm. 95 % intervals have four sources: the
    model's error in free motion, the observer's delay (1 / bandwidth), Coulomb friction of joints at rest, and friction
    in the port. The last pulls along the shaft as a tip force does and cannot be told from one.

    Record free motion like the motion of interest, through the same port: [bold]--free 0 12[/bold] or
    [bold]--free-recording free.bag[/bold]. Default: the residuals of a set that [bold]trocar identify[/bold] wrote.

    A sensor that does not turn with the arm scores the result: RMSE by axis, and as a share of the sensor's range, in
    contact and free. Its axes are fitted by a rotation to the first half of the contact, and the rest is judged; with
    --rotation all of it is. Bags from before CRTK are read too; see docs/observers.md.
    """
    from trocar.control.observers import score, tip_forces
    from trocar.recording.recording import check_suffix

    check_writable(output, plot, json_file)
    if output is not None:
        check_suffix(output)
    turn = _rotation(rotation)
    measured, channel = _load(recording, arm, namespace, sensor)
    options: dict[str, Any] = {} if instrument is None else {"instrument": instrument}
    mechanism = _mechanism(measured, arm, parameters, mounting, options)
    residuals = _residuals(mechanism, measured, free, free_recording, arm, namespace, bandwidth)
    forces = tip_forces(mechanism, measured, residuals, bandwidth, port)
    result = None if channel is None else score(forces, _tared(forces, channel, free), turn)
    if result is None and turn is not None:
        raise TrocarError("--rotation needs a force sensor, and the recording has none")
    written = [] if output is None else [forces.with_channels.save(output)]
    if plot is not None:
        from trocar.control.observers.force_figure import force_figure
        from trocar.plots import save

        written.append(save(force_figure(forces, recording.name, None if result is None else result.sensor), plot))
    if json_file is not None:
        written.append(write_json(json_file, _figures(forces, residuals, result)))
    _show(forces, residuals, result, recording.name)
    show_written(written)


def _rotation(text: str | None) -> Array | None:
    if text is None:
        return None
    import numpy as np
    from scipy.spatial.transform import Rotation

    wxyz = np.array(numbers("rotation", text, (4,), "quaternion of the sensor's axes in the base"))
    if abs(np.linalg.norm(wxyz) - 1.0) > 1e-2:
        raise TrocarError(f"--rotation must be a unit quaternion, got one of length {np.linalg.norm(wxyz):.4g}")
    return Rotation.from_quat(wxyz, scalar_first=True).as_matrix()


def _load(path: Path, arm: str | None, namespace: str | None, sensor: str | None) -> tuple[tr.Recording, str | None]:
    """The recording, and the name of its channel with the force of a sensor (None if there is none)."""
    from trocar.recording.bag_file import SENSOR, is_bag, sensor_topics

    if path.exists() and is_bag(path):
        topics = sensor_topics(path) if sensor is None else [sensor]
        if len(topics) > 1:
            raise TrocarError(f"{path}: several force sensors ({', '.join(topics)}); choose one with --sensor")
        topic = topics[0] if topics else None
        return tr.load_recording(path, arm, namespace=namespace, sensor=topic), topic and SENSOR
    recording = tr.load_recording(path, arm, namespace=namespace, drop_repeats=True)
    name = SENSOR if sensor is None else sensor
    if name not in recording.extra:
        if sensor is None:
            return recording, None
        known = ", ".join(recording.extra) or "none"
        raise TrocarError(f"{path} has no channel {name!r}; its channels besides joints: {known}")
    if recording.extra[name].ndim != 2 or recording.extra[name].shape[1] not in (3, 6):
        raise TrocarError(f"{path}: the channel {name} must hold a force (3 columns) or a wrench (6), in N and N m")
    return recording, name


def _mechanism(
    recording: tr.Recording, arm: str | None, parameters: str | None, mounting: float | None, options: dict[str, Any]
) -> Mechanism:
    import math

    name = recording.provenance.get("arm", arm)
    if not isinstance(name, str):
        raise TrocarError("the recording does not name its arm; pass --arm")
    angle = None if mounting is None else math.radians(mounting)
    return tr.load_mechanism(name, parameters, mounting=angle, **options)


def _residuals(
    mechanism: Mechanism,
    recording: tr.Recording,
    free: tuple[float, float] | None,
    free_recording: Path | None,
    arm: str | None,
    namespace: str | None,
    bandwidth: float,
) -> FreeResiduals:
    """Residuals of free motion, or those of the identification."""
    from trocar.control.observers import FreeResiduals
    from trocar.identification import residual_rms

    if free is not None and free_recording is not None:
        raise TrocarError("choose one of --free and --free-recording")
    if free is not None:
        return FreeResiduals.along(mechanism, recording.between(*free), bandwidth)
    if free_recording is not None:
        other = tr.load_recording(free_recording, arm, namespace=namespace, drop_repeats=True)
        return FreeResiduals.along(mechanism, other, bandwidth)
    path, joints = str(mechanism.dynamic_parameters.path), mechanism.arm.joint_names[:3]
    try:
        rms = residual_rms(path)
        if not rms.keys() >= set(joints):
            raise TrocarError(f"{path} has no residuals of {', '.join(joints)}")
    except TrocarError as error:
        raise TrocarError(f"{error}; pass --free START END or --free-recording FILE") from None
    return FreeResiduals.of_deviations([rms[joint] for joint in joints], f"the identification of {path}")


def _tared(forces: TipForces, channel: str, free: tuple[float, float] | None) -> Array:
    """Readings of the sensor (N, 3) [N], less their mean in the part without contact."""
    values = forces.recording.extra[channel][:, :3]
    t = forces.recording.t
    rows = (t >= free[0]) & (t <= free[1]) if free is not None else None
    return values - values[rows].mean(0) if rows is not None and rows.any() else values


def _figures(forces: TipForces, residuals: FreeResiduals, result: SensorScore | None) -> dict[str, Any]:
    """Figures for --json."""
    figures: dict[str, Any] = {
        "rows": len(forces.force),
        "residuals": residuals.source,
        "rms_force": _rms(forces.force).tolist(),
        "mean_half_width": {name: values.mean(0).tolist() for name, values in forces.half_widths.items()},
        "sensor": None,
    }
    if result is not None:
        free = None if result.rows[1] == 0 else result.free_rmse.tolist()
        figures["sensor"] = {
            "rmse": result.rmse.tolist(),
            "share_of_range": result.share.tolist(),
            "free_rmse": free,
            "coverage": result.coverage.tolist(),
            "rows_in_contact": result.rows[0],
            "rows_free": result.rows[1],
            "rotation": result.rotation.tolist(),
            "rotation_fitted": result.fitted,
            "reaction": result.reaction,
        }
    return figures


def _rms(values: Array) -> Array:
    import numpy as np

    return np.asarray(np.sqrt((values**2).mean(0)))


def _show(forces: TipForces, residuals: FreeResiduals, result: SensorScore | None, name: str) -> None:
    def row(title: str, values: Array, style: str = ".3f") -> tuple[str, ...]:
        return title, *(format(value, style) for value in values)

    t, half = forces.recording.t, forces.half_width
    rows = [row("RMS force", _rms(forces.force)), row("95 % interval, +- mean", half.mean(0))]
    rows += [row(f"  of it {source}", x.mean(0)) for source, x in forces.half_widths.items() if x.any()]
    title = f"{name}: force at the tip, {t[0]:.2f} to {t[-1]:.2f} s, base axes [N]"
    show_table(title, ("", *AXES), rows)
    typer.echo(f"Model error from {residuals.source}.")
    if result is None:
        return
    rows = [row("RMSE in contact, N", result.rmse), row("  share of range", result.share, ".1%")]
    rows += [row("RMSE free, N", result.free_rmse)] if result.rows[1] else []
    rows += [row("inside the 95 % interval", result.coverage, ".1%")]
    show_table(f"Against the sensor: {result.rows[0]} rows in contact, {result.rows[1]} free", ("", *AXES), rows)
    reads = "the force of the arm on its surroundings" if result.reaction else "the force on the arm"
    origin = "fitted to the first half of the contact, judged on the rest" if result.fitted else "as passed"
    typer.echo(f"The sensor reads {reads} (by the better fit); its rotation is {origin}.")
