"""Poses and Jacobians: against finite differences, and against Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

import trocar as tr
from tests.support.finite_differences import derivative, pose_jacobian

VARIANTS = ("base", "body", "spatial")
# A few frames that are not on the chain to the tip, or only partly.
FRAMES = {
    "PSM": ("tip", "finger_left", "counterweight", "top"),
    "PSM_Si": ("tip", "finger_right", "carriage", "yaw_bar"),
    "ECM": ("tip", "top", "insertion"),
    "ECM_Si": ("tip", "back_bar", "insertion"),
    "MTML": ("tip", "rod", "forearm"),
    "MTMR": ("tip", "rod", "crank"),
}


def rates(mechanism, states):
    return np.random.default_rng(2).uniform(-2.0, 2.0, states.shape)


def in_variant(J, T, variant):
    """A base Jacobian (..., 6, n) of the frame at T (..., 4, 4), written in another variant."""
    lin, ang, p = J[..., :3, :], J[..., 3:, :], T[..., :3, 3]
    if variant == "body":
        R_t = np.swapaxes(T[..., :3, :3], -1, -2)
        return np.concatenate([R_t @ lin, R_t @ ang], axis=-2)
    if variant == "spatial":
        # velocity of the point of the body that is at the base origin
        return np.concatenate([lin - np.cross(ang, p[..., None], axis=-2), ang], axis=-2)
    return J


@pytest.mark.parametrize("variant", VARIANTS)
def test_jacobian_is_the_derivative_of_the_pose(mechanism, states, variant):
    for frame in FRAMES[mechanism.arm.name]:
        J = mechanism.jacobian(states, frame, variant)
        expected = pose_jacobian(lambda q, frame=frame: mechanism.pose(q, frame), states)
        expected = in_variant(expected, mechanism.pose(states, frame), variant)
        np.testing.assert_allclose(J, expected[..., : J.shape[-1]], atol=1e-7, err_msg=frame)


def test_tip_jacobian_is_the_derivative_of_the_forward_kinematics(mechanism, states):
    expected = pose_jacobian(mechanism.forward_kinematics, states)
    m = mechanism.arm.tip_joints
    np.testing.assert_allclose(mechanism.jacobian(states), expected[..., :m], atol=1e-7)
    np.testing.assert_array_equal(expected[..., m:], 0.0)  # the jaw does not move the tip


@pytest.mark.parametrize("variant", VARIANTS)
def test_jacobian_dot_is_the_derivative_of_the_jacobian_along_the_motion(mechanism, states, variant):
    dq = rates(mechanism, states)
    for frame in FRAMES[mechanism.arm.name]:
        J_dot = mechanism.jacobian_dot(states, dq, frame, variant)
        expected = derivative(lambda q, f=frame: mechanism.jacobian(q, f, variant), states, dq)
        np.testing.assert_allclose(J_dot, expected, rtol=1e-7, atol=1e-7, err_msg=frame)


def test_acceleration_of_the_tip_is_that_of_a_motion_along_a_curve(mechanism, states):
    """J ddq + J_dot dq is the second derivative of the position along q(t) = q + dq t + ddq t^2 / 2."""
    dq, ddq = rates(mechanism, states), rates(mechanism, states)[::-1]
    m, h = mechanism.arm.tip_joints, 1e-4

    def position(t):
        return mechanism.forward_kinematics(states + dq * t + 0.5 * ddq * t * t)[..., :3, 3]

    expected = (position(h) - 2.0 * position(0.0) + position(-h)) / h**2
    J, J_dot = mechanism.jacobian(states)[..., :3, :], mechanism.jacobian_dot(states, dq)[..., :3, :]
    found = (J @ ddq[..., :m, None] + J_dot @ dq[..., :m, None])[..., 0]
    np.testing.assert_allclose(found, expected, atol=1e-5)


# The same mechanism in Pinocchio


class PinocchioArm:
    """The bodies of an arm as a Pinocchio model; columns projected onto the independent joints by E."""

    def __init__(self, arm):
        self.model, joints = pin.Model(), {None: 0}
        for body in arm.bodies:
            kind = pin.JointModelRZ() if body.kind == "revolute" else pin.JointModelPZ()
            joints[body.name] = self.model.addJoint(
                joints[body.parent], kind, pin.SE3(np.array(body.placement)), body.name
            )
        frames = {body.name: (body.name, np.eye(4)) for body in arm.bodies}
        frames["tip"] = arm.tip_body, np.array(arm.T_body_tip)
        self.frames = {
            name: self.model.addFrame(pin.Frame(f"{name}_frame", joints[body], 0, pin.SE3(T), pin.FrameType.OP_FRAME))
            for name, (body, T) in frames.items()
        }
        self.E, self.data = arm.E, self.model.createData()

    def move(self, q, dq):
        pin.computeJointJacobiansTimeVariation(self.model, self.data, self.E @ q, self.E @ dq)
        pin.updateFramePlacements(self.model, self.data)

    def pose(self, frame):
        return self.data.oMf[self.frames[frame]].homogeneous

    def jacobian(self, frame, reference):
        return pin.getFrameJacobian(self.model, self.data, self.frames[frame], reference) @ self.E

    def jacobian_dot(self, frame, reference):
        return pin.getFrameJacobianTimeVariation(self.model, self.data, self.frames[frame], reference) @ self.E


REFERENCES = {"base": pin.LOCAL_WORLD_ALIGNED, "body": pin.LOCAL, "spatial": pin.WORLD}


def test_pinocchio_agrees_on_every_frame_of_the_mechanism(mechanism, random_states):
    pinocchio = PinocchioArm(mechanism.arm)
    states = np.vstack([mechanism.arm.home, np.full(mechanism.n, 1e-9), random_states(mechanism, 10)])
    for q, dq in zip(states, rates(mechanism, states), strict=True):
        pinocchio.move(q, dq)
        for frame in pinocchio.frames:
            np.testing.assert_allclose(mechanism.pose(q, frame), pinocchio.pose(frame), atol=1e-12)
            for variant, reference in REFERENCES.items():
                J = mechanism.jacobian(q, frame, variant)
                m = J.shape[-1]
                np.testing.assert_allclose(J, pinocchio.jacobian(frame, reference)[:, :m], atol=1e-12)
                J_dot = mechanism.jacobian_dot(q, dq, frame, variant)
                np.testing.assert_allclose(J_dot, pinocchio.jacobian_dot(frame, reference)[:, :m], atol=1e-12)


# Shapes


def test_a_batch_is_the_same_as_one_state_at_a_time(mechanism, random_states):
    q, dq = random_states(mechanism, 12).reshape(2, 2, 3, mechanism.n)
    methods = {
        "forward_kinematics": (q,),
        "pose": (q,),
        "jacobian": (q,),
        "jacobian_dot": (q, dq),
        "tree_configuration": (q,),
        "loop_residual": (q,),
    }
    for name, arguments in methods.items():
        method = getattr(mechanism, name)
        batched = method(*arguments)
        assert batched.shape[:2] == (2, 3)
        for i in np.ndindex(2, 3):
            single = method(*(a[i] for a in arguments))
            np.testing.assert_allclose(batched[i], single, atol=1e-15, err_msg=name)


def test_jacobian_shapes_are_those_of_the_contract(mechanism):
    m = {7: 6, 4: 4}[mechanism.n] if mechanism.arm.has_rcm else 7
    q = np.tile(mechanism.arm.home, (5, 1))
    assert mechanism.jacobian(q).shape == (5, 6, m)
    assert mechanism.jacobian(q[0]).shape == (6, m)
    assert mechanism.jacobian(q[:0]).shape == (0, 6, m)
    assert mechanism.jacobian(q, mechanism.frames[-1]).shape == (5, 6, mechanism.n)
    assert mechanism.forward_kinematics(q[:0]).shape == (0, 4, 4)


def test_jacobian_dot_broadcasts_one_state_against_many_rates(mechanism):
    dq = np.random.default_rng(0).normal(size=(4, mechanism.n))
    J_dot = mechanism.jacobian_dot(mechanism.arm.home, dq)
    for i in range(4):
        np.testing.assert_allclose(J_dot[i], mechanism.jacobian_dot(mechanism.arm.home, dq[i]), atol=1e-14)


def test_poses_are_those_of_every_frame(mechanism, random_states):
    q = random_states(mechanism, 6).reshape(2, 3, -1)
    poses = mechanism.poses(q)
    assert tuple(poses) == mechanism.frames
    for name, T in poses.items():
        np.testing.assert_allclose(T, mechanism.pose(q, name), atol=1e-15, err_msg=name)
    for name in {"base", "rcm"} & poses.keys():
        np.testing.assert_array_equal(poses[name], np.broadcast_to(np.eye(4), (2, 3, 4, 4)))


def test_poses_can_be_changed_without_changing_the_mechanism(mechanism):
    poses = mechanism.poses(mechanism.arm.home)
    for T in poses.values():
        T[...] = np.nan
    assert all(np.isfinite(T).all() for T in mechanism.poses(mechanism.arm.home).values())


@pytest.mark.parametrize("name", ["PSM", "PSM_Si"])
def test_the_jaw_opens_the_fingers_and_leaves_the_tip(name):
    mech = tr.load_mechanism(name)
    shut, open_ = np.array(mech.arm.home), np.array(mech.arm.home)
    open_[6] = 0.6
    np.testing.assert_array_equal(mech.forward_kinematics(open_), mech.forward_kinematics(shut))
    R_left, R_right = (mech.pose(open_, f"finger_{side}")[:3, :3] for side in ("left", "right"))
    np.testing.assert_allclose(
        R_left.T @ R_right, [[np.cos(0.6), -np.sin(0.6), 0], [np.sin(0.6), np.cos(0.6), 0], [0, 0, 1]], atol=1e-15
    )
    np.testing.assert_allclose(
        R_left[:, 0] + R_right[:, 0], 2 * np.cos(0.3) * mech.pose(shut, "wrist_yaw")[:3, 0], atol=1e-15
    )


def test_tree_configuration_is_linear_in_the_joints(mechanism, random_states):
    a, b = random_states(mechanism, 2)
    both = mechanism.tree_configuration(a) + mechanism.tree_configuration(b)
    np.testing.assert_allclose(mechanism.tree_configuration(a + b), both, atol=1e-14)
    np.testing.assert_array_equal(mechanism.tree_configuration(np.zeros(mechanism.n)), 0.0)


@pytest.mark.parametrize("name", ["PSM", "PSM_Si"])
def test_psm_is_singular_where_the_closed_form_vanishes(name, random_states):
    """det J = -cos q2 L (L cos q5 + a), L the depth of the wrist below the remote centre."""
    mech = tr.load_mechanism(name)
    q = random_states(mech, 200)
    L = q[:, 2] - 0.0156
    expected = -np.cos(q[:, 1]) * L * (L * np.cos(q[:, 4]) + 0.0091)
    np.testing.assert_allclose(np.linalg.det(mech.jacobian(q)), expected, atol=1e-14)


def test_one_state_and_a_batch_agree(mechanism, random_states):
    for q in random_states(mechanism, 20):
        np.testing.assert_allclose(
            mechanism.forward_kinematics(q), mechanism.forward_kinematics(q[None])[0], atol=1e-14
        )
        np.testing.assert_allclose(mechanism.jacobian(q), mechanism.jacobian(q[None])[0], atol=1e-14)
