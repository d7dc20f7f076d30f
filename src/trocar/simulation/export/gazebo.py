"""Gazebo-specific elements of an SDF model: position controllers, stereo cameras, a world to start in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from xml.etree.ElementTree import Element

import numpy as np

from trocar.appearance.endoscope_camera import BASELINE, FAR, NEAR, R_TIP_OPTICAL, VIEW
from trocar.appearance.lens import Lens
from trocar.arms.arm import GRAVITY
from trocar.arms.parameters import Inertia
from trocar.mechanics import Mechanism
from trocar.simulation.export.links import flat
from trocar.simulation.export.xml import add, add_texts, document, numbers
from trocar.simulation.scene import Scene
from trocar.spatial import Array, pose, roll_pitch_yaw, rotation

BANDWIDTH = 20.0  # bandwidth of the position controllers [rad/s]
ENGINE = "gz-physics-bullet-featherstone-plugin"
# Gazebo's camera looks along x with z up; the optical frame has x right, y down, z away.
R_OPTICAL_CAMERA = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])


def frame_text(T: Array) -> str:
    """A pose (4, 4) as SDF writes it: x y z [m], roll pitch yaw [rad]."""
    return numbers([*T[:3, 3], *roll_pitch_yaw(T[:3, :3])])


def upright(scene: Scene) -> Array | None:
    """Pose (4, 4) in Gazebo's world, z up, of a model with tilted gravity; None if it is upright."""
    down = scene.gravity / max(float(np.linalg.norm(scene.gravity)), 1e-9)
    pitch = math.atan2(-down[1], -down[2])
    return None if abs(pitch) < 1e-12 else pose(rotation("x", pitch))


def add_controllers(
    model: Element, scene: Scene, start: Mapping[str, Array], inertias: Mapping[str, Mapping[str, Inertia]]
) -> None:
    """A position controller for every independent joint, which holds `start` until it receives a command.

    A PID of BANDWIDTH for the joint's inertia in this file at `start`, with the weight there as feed-forward,
    limited to the joint's effort.
    """
    for name, simulated in scene.arms.items():
        arm, prefix, q = simulated.arm, scene.stepped[name].prefix, start[name]
        drives = tuple(replace(drive, Im=0.0, K=0.0, K2=0.0, K0=0.0) for drive in simulated.parameters.drives)
        of_file = replace(simulated.parameters, inertias=dict(inertias[name]), drives=drives, elastics=())
        mechanism = Mechanism(arm, of_file, gravity=simulated.gravity_vector)
        values = np.diag(mechanism.mass_matrix(q)), mechanism.gravity(q), q
        for joint, M, weight, target in zip(arm.joints, *values, strict=True):
            plugin = _system(model, "joint-position-controller", "JointPositionController")
            add_texts(
                plugin,
                joint_name=flat(prefix + joint.name),
                p_gain=M * BANDWIDTH**2,
                i_gain=M * BANDWIDTH**3 / 4,
                d_gain=2.0 * M * BANDWIDTH,
                i_max=joint.effort,
                i_min=-joint.effort,
                cmd_max=joint.effort,
                cmd_min=-joint.effort,
                cmd_offset=weight,
                initial_position=target,
            )
    _system(model, "joint-state-publisher", "JointStatePublisher")


def add_cameras(link: Element, name: str, T_link_tip: Array) -> None:
    """The two cameras of an endoscope on the link that carries its tip; images on the topics NAME/left, NAME/right."""
    lens = Lens.of_view(VIEW)
    for eye, aside in (("left", BASELINE / 2), ("right", -BASELINE / 2)):
        T = T_link_tip @ pose(R_TIP_OPTICAL @ R_OPTICAL_CAMERA, [aside, 0.0, 0.0])
        sensor = add(link, "sensor", name=f"{name}_{eye}", type="camera")
        add_texts(sensor, pose=frame_text(T), topic=f"{name}/{eye}", update_rate=30.0)
        camera = add(sensor, "camera")
        add_texts(camera, horizontal_fov=VIEW)
        add_texts(add(camera, "image"), width=str(lens.width), height=str(lens.height), format="R8G8B8")
        add_texts(add(camera, "clip"), near=NEAR, far=FAR)


def world(name: str, version: str) -> str:
    """Text of world.sdf: the model in a world with the physics engine that enforces its mimic joints."""
    root = Element("sdf", version=version)
    element = add(root, "world", name=f"{name}_world")
    add_texts(element, gravity=[0.0, 0.0, -GRAVITY])
    physics = add(element, "physics", name="1ms", type="ignored")
    add_texts(physics, max_step_size=1e-3, real_time_factor=1.0)
    engine = _system(element, "physics", "Physics")
    add(add(engine, "engine"), "filename", ENGINE)
    _system(element, "user-commands", "UserCommands")
    _system(element, "scene-broadcaster", "SceneBroadcaster")
    sensors = _system(element, "sensors", "Sensors")
    add(sensors, "render_engine", "ogre2")
    light = add(element, "light", name="sun", type="directional")
    add_texts(light, pose=[0.0, 0.0, 10.0, 0.0, 0.0, 0.0], diffuse=[0.8, 0.8, 0.8, 1.0], direction=[-0.5, 0.3, -0.9])
    add(add(element, "include"), "uri", f"model://{name.lower()}")
    return document(root, [f"GZ_SIM_RESOURCE_PATH=<folder of {name.lower()}> gz sim world.sdf"])


def _system(parent: Element, file: str, name: str) -> Element:
    return add(parent, "plugin", filename=f"gz-sim-{file}-system", name=f"gz::sim::systems::{name}")
