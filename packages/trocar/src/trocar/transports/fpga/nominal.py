"""Configuration files of the dVRK for nominal arms, for users without files of their own.

Scales and board numbers are those of the dVRK's io-config-generator; potentiometers, whose scales are in no source
because every robot has its own, span the joint limits. Masters get a gravity compensation that fits their model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trocar.arms import Arm
from trocar.arms.arm import GRAVITY
from trocar.errors import TrocarError
from trocar.files import write_json
from trocar.mechanics import Mechanism
from trocar.simulation import Scene
from trocar.spatial import Array
from trocar.transports.fpga.io_file import LOOKUP_SIZE

BOARDS = {"MTML": 0, "MTMR": 2, "ECM": 4, "PSM1": 6, "PSM2": 8, "PSM3": 10}
SERIAL = "trocar"
AXES = {"QLA1": 4, "DQLA": 8, "dRA1": 10}
# Signs of the motors; brakes: release current and the current that keeps them open [A]
SIGNS = {
    "PSM": (-1, -1, 1, -1, -1, 1, 1),
    "ECM": (1, 1, -1, 1),
    "PSM_Si": (-1, 1, 1, 1, 1, -1, -1),  # those of its encoders are opposite
    "MTML": (-1, 1, 1, 1, -1, 1, -1),
    "MTMR": (-1, 1, 1, 1, 1, 1, -1),
}
BRAKES = {"ECM": ((0.25, 0.08), (0.22, 0.07), (0.90, 0.20)), "PSM_Si": ((0.15, 0.08), (0.15, 0.08), (-0.25, -0.25))}
FIRST_BRAKE = {"ECM": 4, "PSM_Si": 7}  # actuator number
RELEASE_TIME = {"ECM": 2.0, "PSM_Si": 0.5}  # [s]
AMPERE = 5242.88  # [bits]
AMPERE_SI, AMPERE_SI_LARGE = 16000.0, 4800.0  # the first two motors have larger amplifiers
MIDDLE = 32768  # DAC and ADC without current [bits]
# The dVRK refuses an arm whose axes all have the same DAC offset: it takes the amplifiers for uncalibrated.
OFFSET_STEP = 25  # between the DAC offsets of an arm's axes [bits]: 4.8 mA
VOLT = 4.5 / 65536  # of a bit of the potentiometers
POT_VOLTS = 0.4, 4.1  # at the limits of a potentiometer [V]
POT_MARGIN = 0.1  # beyond the joint limits [rad]; a tenth of it in m
DISC_LIMIT = np.radians(174.0)
SWITCHES_SI = {"SUJ_clutch_2": 1, "SUJ_clutch": 4, "tool": 9, "adapter": 10, "arm_clutch": 13}  # bits
LOOKUP_FILE = f"sawRobotIO1394-{{}}-{SERIAL}-PotentiometerLookupTable.json"
GRIPPER_SCALE = {"offset": float(np.radians(300.0)), "scale": float(np.radians(-100.0))}
POT_TOLERANCE = {"REVOLUTE": float(np.radians(5.0)), "PRISMATIC": 0.005}
MOUNTING = {"ECM": -0.78540}  # pitch of its base [rad]
GRAVITY_SAMPLES = 400


def write_system(folder: Path, scene: Scene, arms: Sequence[str], hardware: str = "QLA1") -> Path:
    """Write all files for these arms of a scene to a folder; the path of the system file."""
    for name in arms:
        if name not in BOARDS:
            raise TrocarError(f"{name} has no board numbers by convention; nominal files are for {', '.join(BOARDS)}")
        mechanism = scene.arms[name].mechanism
        kind = _kind(mechanism.arm)
        newer = mechanism.arm.generation == "Si"
        write_json(folder / f"sawRobotIO1394-{name}-{SERIAL}.json", io_file(name, mechanism.arm, hardware))
        settings: dict[str, Any] = {"kinematic": f"kinematic/{name if kind == 'MTM' else mechanism.arm.name}.json"}
        settings |= {"generation": mechanism.arm.generation}
        if newer:
            write_json(folder / LOOKUP_FILE.format(name), lookup_table(mechanism.arm))
        if kind == "MTM":
            write_json(folder / f"sawRobotIO1394-{name}-gripper-{SERIAL}.json", gripper_file(name, hardware))
            write_json(folder / f"gc-{name}-{SERIAL}.json", gravity_file(name, mechanism))
            settings["gravity_compensation"] = f"gc-{name}-{SERIAL}.json"
        elif kind == "PSM":
            settings["tool_detection"] = "AUTOMATIC"
        else:
            settings |= {"endoscope": "Classic_HD_STRAIGHT", "mounting_pitch": MOUNTING["ECM"]}
        schema = {"$id": f"dvrk-{kind.lower()}.schema.json", "$version": "1"}
        write_json(folder / f"{name}-{SERIAL}.json", schema | settings)
    return write_json(folder / f"system-{'-'.join(arms)}.json", system_file(scene, arms, hardware))


def system_file(scene: Scene, arms: Sequence[str], hardware: str = "QLA1") -> dict[str, Any]:
    """A system with arms on a controller at 127.0.0.1, and a console if there are masters and patient-side arms."""
    kinds = {name: _kind(scene.arms[name].arm) for name in arms}
    masters, slaves = ([name for name in arms if kinds[name] == kind] for kind in ("MTM", "PSM"))
    content: dict[str, Any] = {
        "$id": "dvrk-system.schema.json",
        "$version": "1",
        "IOs": [{"name": "IO1", "port": "udp:127.0.0.1", "protocol": "broadcast-query-read-write"}],
        "arms": [{"name": name, "type": kinds[name], "serial": SERIAL, "IO": "IO1"} for name in arms],
    }
    for entry in content["arms"]:
        facts = scene.arms[entry["name"]].arm
        if facts.T_hrsv_base is not None:
            entry["base_frame"] = {"reference_frame": "HRSV", "transform": facts.T_hrsv_base.tolist()}
    if masters and slaves:
        # the right master drives PSM1, the left one PSM2
        pairs = zip(sorted(masters, reverse=True), sorted(slaves), strict=False)
        content["consoles"] = [
            {
                "name": "console1",
                "input_type": "PEDALS_ONLY",
                "IO_pedals": {"IO": "IO1", "IO_file": f"io/sawRobotIO1394-{masters[-1]}-foot-pedals-{hardware}.json"},
                "teleop_PSMs": [{"MTM": master, "PSM": slave} for master, slave in pairs],
            }
        ]
    return content


def io_file(name: str, arm: Arm, hardware: str = "QLA1") -> dict[str, Any]:
    """IO file of an arm; an arm of the dVRK-Si has its own boards."""
    kind, motors, first, newer = _kind(arm), arm.motors, BOARDS[name], arm.generation == "Si"
    hardware = "dRA1" if newer else hardware
    axes, signs = AXES[hardware], SIGNS[name if kind == "MTM" else arm.name]
    lower, upper = _pot_ranges(arm)
    actuators: list[dict[str, Any]] = []
    for k, sign in enumerate(signs):
        prismatic = k < 3 and arm.joints[k].kind == "prismatic"
        per_effort = 1.0 / (motors.gear[k] * motors.torque_constant[k])
        actuators.append(
            {
                "actuator_id": k,
                "board_id": first + k // axes,
                "axis_id": k % axes,
                "joint_type": "PRISMATIC" if prismatic else "REVOLUTE",
                "drive": {
                    **_drive(sign, _ampere(newer, k), MIDDLE + OFFSET_STEP * k),
                    "effort_to_current": {"scale": per_effort},
                    "maximum_current": motors.current[k],
                },
                "encoder": {
                    "bits_to_position": {
                        "scale": (-sign if newer else sign) * 2.0 * np.pi / (motors.encoder_counts[k] * motors.gear[k])
                    },
                    "velocity_source": "SOFTWARE" if newer and k < 3 else "FIRMWARE",
                    "position_limits_soft": {"lower": float(lower[k]), "upper": float(upper[k])},
                },
            }
        )
        if not newer:
            actuators[k]["potentiometer"] = _pot(lower[k], upper[k], POT_MARGIN * (0.1 if prismatic else 1.0))
    distances = [POT_TOLERANCE[actuator["joint_type"]] for actuator in actuators]
    latencies = [0.01] * len(signs)
    pots: dict[str, Any] = {"potentiometers_type": "DIGITAL" if newer else "ANALOG"}
    if newer:
        pots["lookup_table_file"] = LOOKUP_FILE.format(name)
    if kind == "MTM":  # the potentiometers measure joints; that of the roll is not used
        distances[6] = latencies[6] = 0.0
        pots["coupling"] = {"JointToActuatorPosition": np.linalg.inv(motors.coupling).tolist()}
    pots["tolerances"] = [
        {"axis_id": k, "distance": distance, "latency": latency}
        for k, (distance, latency) in enumerate(zip(distances, latencies, strict=True))
    ]
    brakes = [
        {
            "board_id": first + k // axes,
            "axis_id": k % axes,
            "drive": {**_drive(1, AMPERE_SI if newer else AMPERE), "maximum_current": abs(release)},
            "release_current": release,
            "release_time": RELEASE_TIME[arm.name],
            "released_current": released,
            "engaged_current": 0.0,
        }
        for k, (release, released) in enumerate(BRAKES.get(arm.name, ()), start=FIRST_BRAKE.get(arm.name, 0))
    ]
    content = _robot(name, hardware, actuators, brakes) | {"digital_inputs": _inputs(name, kind, first, hardware)}
    content["robots"][0]["potentiometers"] = pots
    if kind == "PSM":
        content["dallas_chips"] = [{"board_id": first + (hardware == "QLA1"), "name": f"{name}_dallas"}]
    return content


def gripper_file(name: str, hardware: str = "QLA1") -> dict[str, Any]:
    """IO file of a master's gripper: an eighth actuator with a potentiometer only."""
    board, axis = divmod(7, AXES[hardware])
    actuator = {
        "actuator_id": 0,
        "board_id": BOARDS[name] + board,
        "axis_id": axis,
        "joint_type": "REVOLUTE",
        "drive": {**_drive(-1), "effort_to_current": {"scale": 0.36}, "maximum_current": 0.0},
        "encoder": {
            "bits_to_position": {"scale": 2.0 * np.pi},
            "velocity_source": "SOFTWARE",
            "position_limits_soft": {"lower": 0.0, "upper": 0.0},
        },
        "potentiometer": {"bits_to_voltage": {"offset": 0.0, "scale": VOLT}, "voltage_to_position": GRIPPER_SCALE},
    }
    content = _robot(f"{name}_gripper", hardware, [actuator], [])
    content["robots"][0] |= {"type": "io-only", "potentiometers": {"potentiometers_type": "ANALOG", "tolerances": None}}
    return content


def gravity_file(name: str, mechanism: Mechanism) -> dict[str, Any]:
    """Gravity compensation of a master, fitted to the model of the arm; the same in both directions.

    The dVRK's terms are ten moments of mass, and for cables a polynomial of degree 4 in each of the first six joints.
    """
    arm = mechanism.arm
    random = np.random.default_rng(0)
    q = random.uniform(np.maximum(arm.lower, -np.pi), np.minimum(arm.upper, np.pi), (GRAVITY_SAMPLES, arm.n))
    tau = mechanism.gravity(q)
    Y = gravity_regressor(q)
    moments = np.linalg.lstsq(Y.reshape(-1, Y.shape[-1]), tau.reshape(-1), rcond=None)[0]
    parameters = moments.tolist()
    limit = (1.5 * np.abs(tau).max(axis=0)).tolist()
    return {
        "ARM_NAME": name,
        "SN": SERIAL,
        "version": "2.0",
        "GC_controller": {
            "gc_dynamic_params_pos": parameters,
            "gc_dynamic_params_neg": parameters,
            "safe_upper_torque_limit": limit,
            "safe_lower_torque_limit": [-value for value in limit],
            "db_vel_vec": [0.02] * 7,
            "sat_vec_vec": [0.2] * 7,
            "fric_comp_ratio_vec": [0.0] * 7,
        },
    }


def gravity_regressor(q: Array) -> Array:
    """Regressor (N, 7, 40): gradients of the potentials, by complex steps, and powers of the joints."""
    Y = np.zeros((len(q), 7, 40))
    for joint in range(7):
        stepped = q.astype(complex)
        stepped[:, joint] += 1e-20j
        Y[:, joint, :10] = np.imag(_potentials(stepped)).T / 1e-20
        if joint < 6:
            first = 10 + 5 * joint
            Y[:, joint, first : first + 5] = q[:, joint, None] ** np.arange(5)
    return Y


def _potentials(q: Array) -> Array:
    """Height times gravity (10, N) per moment of mass: upper arm, forearm, platform, wrist pitch, wrist yaw."""
    (s2, s4, s5, s6), (c2, c4, c5, c6) = (function(q[:, [1, 3, 4, 5]]).T for function in (np.sin, np.cos))
    s23, c23 = np.sin(q[:, 1] + q[:, 2]), np.cos(q[:, 1] + q[:, 2])
    return GRAVITY * np.array(
        [
            *(-c2, s2, s23, c23, s23 * c4, -s23 * s4),
            *(c23 * c5 - s23 * c4 * s5, c23 * s5 + s23 * c4 * c5),
            s23 * s4 * s6 - c23 * s5 * c6 - s23 * c4 * c5 * c6,
            s23 * s4 * c6 + c23 * s5 * s6 + s23 * c4 * c5 * s6,
        ]
    )


def lookup_table(arm: Arm) -> dict[str, Any]:
    """Table of the potentiometers of an arm of the dVRK-Si: positions in equal steps, without unknown entries."""
    lower, upper = _pot_ranges(arm)
    margin = np.where([joint.kind == "prismatic" for joint in arm.joints], 0.1, 1.0) * POT_MARGIN
    return {"lookup": np.linspace(lower - margin, upper + margin, LOOKUP_SIZE, axis=1).tolist(), "serial": SERIAL}


def _kind(arm: Arm) -> str:
    if arm.role == "ARM" or not arm.motors.encoder_counts:
        raise TrocarError(
            f"there are no nominal files for {arm.name}, only for PSM, ECM, MTML, MTMR and PSM_Si: the encoders of "
            "others are not published. Use the files of a robot, or choose other arms"
        )
    return arm.role


def _ampere(newer: bool, k: int) -> float:
    return AMPERE if not newer else AMPERE_SI_LARGE if k < 2 else AMPERE_SI


def _pot_ranges(arm: Arm) -> tuple[Array, Array]:
    """Ranges of the potentiometers: joints, or discs of an instrument."""
    lower, upper = np.array(arm.lower), np.array(arm.upper)
    if arm.carries == "instrument":
        lower[3:], upper[3:] = -DISC_LIMIT, DISC_LIMIT
    return lower, upper


def _pot(lower: float, upper: float, margin: float) -> dict[str, Any]:
    low, high = POT_VOLTS
    scale = float((upper - lower + 2.0 * margin) / (high - low))
    offset = float(lower - margin - scale * low)
    return {
        "bits_to_voltage": {"offset": 0.0, "scale": VOLT},
        "voltage_to_position": {"offset": offset, "scale": scale},
    }


def _drive(sign: int, ampere: float = AMPERE, zero: int = MIDDLE) -> dict[str, Any]:
    """Scales of an amplifier; `zero`: DAC and ADC without current [bits]."""
    return {
        "current_to_bits": {"offset": zero, "scale": sign * ampere},
        "bits_to_current": {"offset": -sign * zero / ampere, "scale": sign / ampere},
    }


def _robot(name: str, hardware: str, actuators: list[Any], brakes: list[Any]) -> dict[str, Any]:
    robot: dict[str, Any] = {
        "name": name,
        "hardware_version": hardware,
        "serial_number": SERIAL,
        "actuators": actuators,
        "brakes": brakes,
    }
    robot |= {"number_of_actuators": len(actuators), "number_of_brakes": len(brakes)}
    return {"$id": "saw-robot-io.schema.json", "$version": "6", "robots": [robot]}


def _inputs(name: str, kind: str, first: int, hardware: str) -> list[dict[str, Any]]:
    """Switches: name, board and bit. A DQLA has those of its second QLA 16 bits higher."""
    newer = hardware == "dRA1"
    second = (first + 1, 0) if hardware == "QLA1" else (first, 0 if newer else 16)
    places = {
        "PSM": {"SUJ_clutch": (first, 0), "arm_clutch": (first, 2), "tool": (second[0], 7), "adapter": (second[0], 10)},
        "PSM_Si": {name: (first, bit) for name, bit in SWITCHES_SI.items()},
        "ECM": {"arm_clutch": (first, 0), "SUJ_clutch": (first, 2)},
        "MTM": {},
    }["PSM_Si" if newer else kind]
    return [
        {
            "name": f"{name}_{switch}",
            "board_id": board,
            "bit_id": bit + (second[1] if switch in ("tool", "adapter") else 0),
            "pressed_value": not newer,
            "debounce_time": 0.2,
            "trigger_when_pressed": True,
            "trigger_when_released": True,
        }
        for switch, (board, bit) in places.items()
    ]
