"""Checks that only read: topics, services, sizes, units, frames, latching, stamps, rates and kinematics."""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.robot import messages as m
from trocar.robot.conformance.subject import CheckSkipped, Subject, require
from trocar.spatial import Array
from trocar.spatial import inverse as inverse_pose

STATES = ("DISABLED", "ENABLED", "PAUSED", "FAULT")
LOCAL = ("local/measured_cp", "local/setpoint_cp", "local/measured_cv")
WRENCHES = ("body/measured_cf", "spatial/measured_cf")
EXCESS = 1.1  # largest ratio of measured to largest effort
# Events that are sent when a device joins the bus; others may not have a last message.
ALWAYS = {
    "PSM": {"tool_type", "IO/tool", "IO/arm_clutch"},
    "ECM": {"endoscope_type", "IO/arm_clutch"},
    "MTM": {"gripper/closed", "orientation_locked"},
    "SYSTEM": {"volume"},
    "CONSOLE": {"teleop/scale", "clutch", "operator_present"},
    "FOOT_PEDALS": {"clutch"},
}
MAX_DISTANCE = 5.0  # tip from the origin of its frame of reference [m]
MARGIN = 0.05  # fraction of a joint's range by which a measured position may exceed a limit
LISTENED = 0.5  # time of listening [s]
OFF_RATE = 0.25  # largest relative error of a topic's rate
SAME_POSE = 1e-3  # [m], entries of rotations; samples of two topics may differ by a cycle
STEP = 1e-4  # step of the numerical derivative [rad, m]
SAME_JACOBIAN = 1e-2  # [m/rad, 1]
OUT_OF_REACH = 10.0  # [m]


def topics(subject: Subject) -> None:
    """Every topic of the table exists, with its type."""
    there = subject.robot.bus.topics
    for topic in subject.interface.topics:
        name = subject.path(topic.name)
        require(name in there, f"{topic.name} does not exist")
        require(there[name].message is topic.message, f"{topic.name} is a {there[name].message.__name__}")
        require(there[name].direction is topic.direction, f"{topic.name} is a {there[name].direction}")


def services(subject: Subject) -> None:
    """Every service of the table exists; operating_state and crtk_version answer."""
    for service in subject.interface.services:
        require(subject.path(service.name) in subject.robot.bus.services, f"{service.name} does not exist")
    names = [service.name for service in subject.interface.services]
    if "operating_state" not in names:
        return
    asked, published = subject.call("operating_state"), subject.state
    for key in ("state", "is_homed", "is_busy"):
        require(getattr(asked, key) == getattr(published, key), f"service and topic operating_state differ in {key}")
    require(asked.state in STATES, f"operating state {asked.state!r}")
    if "crtk_version" in names:
        version = subject.call("crtk_version")
        require(isinstance(version, str) and version, f"crtk_version answers {version!r}")


def sizes(subject: Subject) -> None:
    """Every state topic has arrays of its size, finite, and poses are rigid."""
    n = len(subject.read("measured_js").position)
    require(n > 0, "measured_js has no joints")
    for topic in subject.state_topics:
        message = subject.read(topic.name)
        require(isinstance(message, topic.message), f"{topic.name} sends a {type(message).__name__}")
        own = topic.name.partition("/")[0] in ("jaw", "gripper")
        wrong = _wrong_size(message, 1 if own else n, topic.name)
        require(not wrong, f"{topic.name}: {wrong}")


def _wrong_size(message: Any, n: int, topic: str) -> str:
    """Faults of the arrays of a message of n joints; empty if there are none."""
    match message:
        case m.JointState():
            arrays = {"position": message.position, "velocity": message.velocity, "effort": message.effort}
            if topic.endswith("measured_js") or topic == "setpoint_js":
                lacking = [key for key in ("position", "velocity") if not len(arrays[key])]
                if lacking:
                    return f"no {lacking[0]}"
            if len(message.name) != n:
                return f"{len(message.name)} names for {n} joints"
            return next(filter(None, (_wrong_array(x, (n,), key) for key, x in arrays.items() if len(x))), "")
        case m.Pose():
            return _wrong_array(message.T, (4, 4), "pose") or not_rigid(message.T)
        case m.Twist() | m.Wrench():
            return _wrong_array(message.vector, (6,), "vector")
        case m.Matrix():
            return _wrong_array(message.values, (6, n), "matrix")
    return ""


def _wrong_array(x: Array, shape: tuple[int, ...], what: str) -> str:
    if np.shape(x) != shape:
        return f"{what} of shape {np.shape(x)}, expected {shape}"
    return "" if np.isfinite(x).all() else f"{what} is not finite"


def not_rigid(T: Array) -> str:
    R = T[:3, :3]
    rigid = np.allclose(R @ R.T, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0
    return "" if rigid and np.allclose(T[3], [0, 0, 0, 1]) else "the pose is not a rigid transformation"


def units(subject: Subject) -> None:
    """Joints [rad, m] and efforts [N m, N] are within their limits, the tip within 5 m of its frame of reference."""
    for topic in ("measured_cp", "local/measured_cp"):
        distance = np.linalg.norm(subject.read(topic).T[:3, 3])
        require(distance < MAX_DISTANCE, f"{topic} is {distance:g} m from its frame of reference")
    if subject.efforts is not None:
        for topic in ("measured_js", "setpoint_js"):
            effort = np.abs(subject.read(topic).effort)
            if effort.shape != subject.efforts.shape:
                continue  # reported by the check of sizes
            effort = effort / subject.efforts
            worst = int(np.argmax(effort))
            require(
                effort[worst] <= EXCESS,
                f"{topic}: the effort of joint {worst} is {effort[worst]:.3g} times the largest of its motor",
            )
    if subject.limits is None:
        raise CheckSkipped("the joint limits are not known")
    lower, upper = subject.limits
    for topic in ("measured_js", "setpoint_js"):
        q = subject.read(topic).position
        excess = np.maximum(lower - q, q - upper) - MARGIN * (upper - lower)
        worst = int(np.argmax(excess))
        require(
            excess[worst] <= 0,
            f"{topic}: joint {worst} is {q[worst]:g}, its limits are {lower[worst]:g} and {upper[worst]:g}",
        )


def frames(subject: Subject) -> None:
    """frame_id is <ARM>_base for joints, wrenches and local topics, and one frame of reference for the rest."""
    base = f"{subject.arm}_base"
    joints = [topic.name for topic in subject.state_topics if topic.message is m.JointState]
    for topic in (*joints, *LOCAL, *WRENCHES):
        frame = subject.read(topic).frame_id
        require(frame == base, f"{topic} has frame_id {frame!r}, expected {base!r}")
    reference = subject.read("measured_cp").frame_id
    require(reference, "measured_cp has no frame_id")
    for topic in ("setpoint_cp", "measured_cv"):
        frame = subject.read(topic).frame_id
        require(frame == reference, f"{topic} has frame_id {frame!r}, measured_cp has {reference!r}")


def latching(subject: Subject) -> None:
    """A new subscriber of an event receives its last message without waiting for the next one."""
    own = {topic.name for topic in subject.interface.topics}
    always = ({"operating_state", "trajectory_j/ratio"} & own) | ALWAYS.get(subject.kind, set())
    heard = {}
    for topic in subject.interface.topics:
        if topic.latched and (topic.name in always or subject.robot.bus.read(subject.path(topic.name)) is not None):
            heard[topic.name] = subject.heard(topic.name)
    subject.robot.wait_for(lambda: all(heard.values()), 0.2)
    silent = [name for name, messages in heard.items() if not messages]
    require(not silent, f"nothing was received from {', '.join(silent)}")


def _samples(subject: Subject) -> dict[str, list[Any]]:
    """Messages of every state topic over some time."""
    heard = {topic.name: subject.heard(topic.name) for topic in subject.state_topics}
    subject.sleep(LISTENED)
    return {name: list(messages) for name, messages in heard.items()}


def state_stamps(subject: Subject) -> None:
    """State topics of an arm that is ready have positive stamps that strictly increase."""
    _require_ready(subject)
    for name, messages in _samples(subject).items():
        _require_increasing(name, messages)


def rates(subject: Subject) -> None:
    """State topics are sent at their rate."""
    samples = _samples(subject)
    for topic in subject.state_topics:
        rate = (len(samples[topic.name]) - 1) / LISTENED  # the first sample arrives immediately
        require(
            abs(rate / topic.rate - 1) <= OFF_RATE, f"{topic.name} is sent at {rate:g} Hz, expected {topic.rate:g} Hz"
        )


def operating_state_stamps(subject: Subject) -> None:
    """Operating states have positive stamps that strictly increase: clients drop the others."""
    _require_increasing("operating_state", subject.states or [subject.state])


def _require_increasing(name: str, messages: list[Any]) -> None:
    stamps = [message.stamp for message in messages]
    require(len(stamps) > 0, f"{name} sends nothing")
    require(all(stamp > 0 for stamp in stamps), f"{name} has stamp 0: clients drop it")
    late = next((k for k in range(1, len(stamps)) if stamps[k] <= stamps[k - 1]), None)
    require(late is None, f"{name}: the stamp does not increase from message {late} to the next")


def _require_ready(subject: Subject) -> None:
    if not subject.ready:
        raise CheckSkipped("the arm is not enabled and homed: its data may be invalid")


def forward(subject: Subject) -> None:
    """forward_kinematics agrees with setpoint_cp, takes up to n joints and refuses "too many joints"."""
    _require_ready(subject)
    q = subject.setpoint
    for prefix in ("", "local/"):
        service = f"{prefix}forward_kinematics"
        answer = subject.call(service, q)
        require(answer.result, f"{service} of the setpoint fails: {answer.message!r}")
        error = np.abs(answer.value - subject.read(f"{prefix}setpoint_cp").T).max()
        require(error < SAME_POSE, f"{service} differs from {prefix}setpoint_cp by {error:.2g}")
        for k in range(1, len(q)):
            answer = subject.call(service, q[:k])
            require(answer.result, f"{service} refuses {k} of {len(q)} joints: {answer.message!r}")
        answer = subject.call(service, np.append(q, 0.0))
        require(not answer.result, f"{service} accepts {len(q) + 1} joints")
        require("too many joints" in answer.message, f"{service} of too many joints answers {answer.message!r}")


def inverse(subject: Subject) -> None:
    """inverse_kinematics leads back to the pose; refuses an "incorrect number of joints" and reports failure."""
    _require_ready(subject)
    q, T = subject.setpoint, subject.read("local/setpoint_cp").T
    answer = subject.call("inverse_kinematics", q, T)
    require(answer.result, f"the pose of the setpoint has no solution: {answer.message!r}")
    error = np.abs(subject.call("local/forward_kinematics", answer.value).value - T).max()
    require(error < SAME_POSE, f"the solution misses the pose by {error:.2g}")
    for wrong in (q[:-1], np.append(q, 0.0)):
        answer = subject.call("inverse_kinematics", wrong, T)
        require(not answer.result, f"a seed of {len(wrong)} joints is accepted")
        require(
            "incorrect number of joints" in answer.message, f"a seed of {len(wrong)} joints answers {answer.message!r}"
        )
    far = np.array(T)
    far[0, 3] += OUT_OF_REACH
    answer = subject.call("inverse_kinematics", q, far)
    require(not answer.result, f"a pose {OUT_OF_REACH:g} m away has a solution")
    require("inverse kinematics failed" in answer.message, f"a pose out of reach answers {answer.message!r}")


def jacobian(subject: Subject) -> None:
    """Jacobians are (6, n), linear rows first: body in axes of the tip, spatial at the origin of the base."""
    _require_ready(subject)
    q = np.array(subject.read("measured_js").position)
    body, spatial = _numerical(subject, q)
    for name, expected in (("body", body), ("spatial", spatial)):
        reported = np.asarray(subject.read(f"{name}/jacobian").values)
        require(
            reported.shape == expected.shape, f"{name}/jacobian has shape {reported.shape}, expected {expected.shape}"
        )
        error = np.abs(reported - expected)
        row, column = np.unravel_index(np.argmax(error), error.shape)
        require(
            error.max() < SAME_JACOBIAN,
            f"{name}/jacobian[{row}, {column}] is {reported[row, column]:.4g}, "
            f"the derivative of local/forward_kinematics {expected[row, column]:.4g}",
        )


def _numerical(subject: Subject, q: Array) -> tuple[Array, Array]:
    """Body and spatial Jacobian (6, n) by central differences of local/forward_kinematics."""

    def pose_at(joints: Array) -> Array:
        return np.array(subject.call("local/forward_kinematics", joints).value)

    T_inverse = inverse_pose(pose_at(q))
    rates = [(pose_at(q + dq) - pose_at(q - dq)) / (2 * STEP) for dq in STEP * np.eye(len(q))]
    body, spatial = (np.array([[T_inverse @ dT, dT @ T_inverse] for dT in rates])).swapaxes(0, 1)
    return _twists(body), _twists(spatial)


def _twists(X: Array) -> Array:
    """Columns (6, n) of twists given as matrices (n, 4, 4) of se(3)."""
    angular = 0.5 * np.stack([X[:, 2, 1] - X[:, 1, 2], X[:, 0, 2] - X[:, 2, 0], X[:, 1, 0] - X[:, 0, 1]])
    return np.concatenate([X[:, :3, 3].T, angular])
