"""A small reader of SDF, written against the specification only: links, joints, loops, mimic, controllers."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np


def transform(text):
    """Pose (4, 4) of SDF's "x y z roll pitch yaw"."""
    x, y, z, roll, pitch, yaw = (float(number) for number in text.split())
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(angle), np.sin(angle)) for angle in (roll, pitch, yaw))
    T = np.eye(4)
    T[:3, :3] = (
        np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
        @ np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    )
    T[:3, 3] = x, y, z
    return T


def number(element, path, default=0.0):
    found = element.find(path)
    return default if found is None else float(found.text)


@dataclass
class Controller:
    """Gazebo's JointPositionController: a PID on a joint's position with limits."""

    joint: str
    p: float
    i: float
    d: float
    largest: float
    offset: float
    target: float
    integral: float = 0.0

    def effort(self, position, velocity, dt):
        error = self.target - position
        self.integral = np.clip(self.integral + self.i * error * dt, -self.largest, self.largest)
        effort = self.offset + self.p * error + self.integral - self.d * velocity
        return np.clip(effort, -self.largest, self.largest)


class SdfModel:
    """The model of a file. Attributes: root (its element), T (pose of every link), joints, controllers."""

    def __init__(self, path):
        self.path = Path(path)
        self.root = ElementTree.parse(path).getroot().find("model")
        at = {link.get("name"): link.find("pose") for link in self.root.findall("link")}
        self.T = {name: np.eye(4) if pose is None else transform(pose.text) for name, pose in at.items()}
        self.links = {link.get("name"): link for link in self.root.findall("link")}
        self.joints = {joint.get("name"): joint for joint in self.root.findall("joint")}
        pose = self.root.find("pose")
        self.T_world = np.eye(4) if pose is None else transform(pose.text)
        self.controllers = [
            Controller(
                plugin.find("joint_name").text,
                *(number(plugin, f"{term}_gain") for term in "pid"),
                *(number(plugin, name) for name in ("cmd_max", "cmd_offset", "initial_position")),
            )
            for plugin in self.root.findall("plugin")
            if plugin.get("name") == "gz::sim::systems::JointPositionController"
        ]

    def followers(self):
        """Leader and multiplier of every mimic joint, by its name."""
        found = {}
        for name, joint in self.joints.items():
            mimic = joint.find("axis/mimic")
            if mimic is not None:
                assert number(mimic, "offset") == number(mimic, "reference") == 0.0
                found[name] = (mimic.get("joint"), number(mimic, "multiplier"))
        return found

    def loops(self):
        """Name, child, and point of the parent and of the child (3,) of every ball joint, at rest in one place."""
        found = []
        for name, joint in self.joints.items():
            if joint.get("type") == "ball":
                parent, child = joint.find("parent").text, joint.find("child").text
                point = transform(joint.find("pose").text)[:, 3]
                on_parent = np.linalg.inv(self.T[parent]) @ self.T[child] @ point
                found.append((name, child, on_parent[:3], point[:3]))
        return found

    def gearboxes(self):
        """Leader and factor of the joint that a gearbox couples, by its name; the child is carried by the parent."""
        found, of_child = {}, {}
        for name, joint in self.joints.items():
            if joint.get("type") != "gearbox":
                of_child[joint.find("child").text] = name
        for joint in self.joints.values():
            if joint.get("type") == "gearbox":
                parent, child = (of_child[joint.find(end).text] for end in ("parent", "child"))
                assert self.joints[child].find("parent").text == joint.find("parent").text
                assert self.joints[parent].find("parent").text == joint.find("gearbox_reference_body").text
                # angle of the child on the reference = -ratio * angle of the parent on it
                found[child] = (parent, -number(joint, "gearbox_ratio") - 1.0)
        return found

    def mujoco(self, explicit=True, friction=True):
        """The model in MuJoCo; with `explicit`, integrated by explicit Euler steps of 1 ms, damping included."""
        spec = mujoco.MjSpec()
        spec.compiler.degree = False
        spec.option.timestep = 1e-3
        spec.option.gravity = self.T_world[:3, :3].T @ [0.0, 0.0, -9.81]
        if explicit:
            spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
            spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
        bodies = {"world": spec.worldbody}
        T = {"world": np.eye(4), **self.T}
        waiting = {name: joint for name, joint in self.joints.items() if joint.get("type") not in ("ball", "gearbox")}
        while waiting:
            name = next(key for key, joint in waiting.items() if joint.find("parent").text in bodies)
            joint = waiting.pop(name)
            parent, child = joint.find("parent").text, joint.find("child").text
            T_parent_child = np.linalg.inv(T[parent]) @ T[child]
            body = bodies[child] = bodies[parent].add_body(name=child, pos=T_parent_child[:3, 3])
            quat = np.zeros(4)
            mujoco.mju_mat2Quat(quat, T_parent_child[:3, :3].ravel())
            body.quat = quat
            if joint.get("type") != "fixed":
                self._add(body, joint, friction)
            if self.links[child].find("inertial") is not None:
                self._add_inertia(body)
        stiff = {"solref": [0.002, 1.0], "solimp": [0.9999, 0.9999, 0.001, 0.5, 2.0]}
        for name, child, _, anchor in self.loops():
            parent = self.joints[name].find("parent").text
            kind = {"type": mujoco.mjtEq.mjEQ_CONNECT, "objtype": mujoco.mjtObj.mjOBJ_BODY}
            spec.add_equality(name=name, name1=child, name2=parent, data=[*anchor, *[0.0] * 9], **kind, **stiff)
        for follower, (leader, factor) in (self.followers() | self.gearboxes()).items():
            data = [0.0, factor, *[0.0] * 10]
            kind = {"type": mujoco.mjtEq.mjEQ_JOINT, "objtype": mujoco.mjtObj.mjOBJ_JOINT}
            spec.add_equality(name=follower, name1=follower, name2=leader, data=data, **kind, **stiff)
        return spec.compile()

    def bullet(self, bullet):
        """The model in Bullet (the module pybullet, connected), mimic joints as gear constraints: body, joints by name.

        Gazebo's engine bullet-featherstone enforces mimic joints by this constraint.
        """
        body = bullet.loadURDF(self._plain_urdf(), useFixedBase=True, flags=bullet.URDF_USE_INERTIA_FROM_FILE)
        bullet.setGravity(*(self.T_world[:3, :3].T @ [0.0, 0.0, -9.81]))
        bullet.setTimeStep(1e-3)
        numbers = {bullet.getJointInfo(body, i)[1].decode(): i for i in range(bullet.getNumJoints(body))}
        for name, i in numbers.items():
            bullet.setJointMotorControl2(body, i, bullet.VELOCITY_CONTROL, force=0)
            damping = number(self.joints[name], "axis/dynamics/damping")
            bullet.changeDynamics(body, i, linearDamping=0, angularDamping=0, jointDamping=damping)
        for follower, (leader, factor) in self.followers().items():
            links, zero = (body, numbers[follower], body, numbers[leader]), [0, 0, 0]
            gear = bullet.createConstraint(*links, bullet.JOINT_GEAR, [0, 0, 1], zero, zero)
            bullet.changeConstraint(gear, gearRatio=-factor, maxForce=1e4, erp=0.2, relativePositionTarget=0)
        return body, numbers

    def _plain_urdf(self):
        """Path of the same links and joints in URDF, which Bullet reads; without mimic and shapes."""
        robot = ElementTree.Element("robot", name="model")
        for name, link in self.links.items():
            element, inertial = ElementTree.SubElement(robot, "link", name=name), link.find("inertial")
            if inertial is None:
                continue
            added = ElementTree.SubElement(element, "inertial")
            centre = inertial.find("pose").text.split()[:3]
            ElementTree.SubElement(added, "origin", xyz=" ".join(centre))
            ElementTree.SubElement(added, "mass", value=inertial.find("mass").text)
            ElementTree.SubElement(added, "inertia", {entry.tag: entry.text for entry in inertial.find("inertia")})
        for name, joint in self.joints.items():
            parent, child = joint.find("parent").text, joint.find("child").text
            if parent == "world":
                continue
            element = ElementTree.SubElement(robot, "joint", name=name, type=joint.get("type"))
            ElementTree.SubElement(element, "parent", link=parent)
            ElementTree.SubElement(element, "child", link=child)
            T = np.linalg.inv(self.T[parent]) @ self.T[child]
            R = T[:3, :3]
            pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
            rpy = np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])
            xyz, rpy = (" ".join(f"{x:.17g}" for x in values) for values in (T[:3, 3], rpy))
            ElementTree.SubElement(element, "origin", xyz=xyz, rpy=rpy)
            ElementTree.SubElement(element, "axis", xyz="0 0 1")
            ends = {
                end: joint.find(f"axis/limit/{end}").text
                for end in ("lower", "upper")
                if joint.find("axis") is not None
            }
            ElementTree.SubElement(element, "limit", effort="1000", velocity="1000", **ends)
        path = self.path.with_name("plain.urdf")
        path.write_bytes(ElementTree.tostring(robot))
        return str(path)

    def _add(self, body, joint, friction):
        axis = joint.find("axis")
        slide = joint.get("type") == "prismatic"
        kind = mujoco.mjtJoint.mjJNT_SLIDE if slide else mujoco.mjtJoint.mjJNT_HINGE
        added = body.add_joint(name=joint.get("name"), type=kind)
        added.axis = [float(x) for x in axis.find("xyz").text.split()]
        if axis.find("mimic") is None:
            added.limited, added.range = True, [number(axis, "limit/lower"), number(axis, "limit/upper")]
        if friction:
            added.damping = [number(axis, "dynamics/damping"), 0.0, 0.0]
            added.frictionloss = number(axis, "dynamics/friction")

    def _add_inertia(self, body):
        inertial = self.links[body.name].find("inertial")
        xx, yy, zz, xy, xz, yz = (
            number(inertial, f"inertia/{key}") for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        )
        body.explicitinertial = True
        body.mass, body.ipos = number(inertial, "mass"), transform(inertial.find("pose").text)[:3, 3]
        body.fullinertia = [xx, yy, zz, xy, xz, yz]
