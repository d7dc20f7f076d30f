"""The cameras at the tip of the ECM agree with projective geometry."""

import numpy as np
import pytest

import trocar as tr
from trocar.appearance import studio
from trocar.appearance.endoscope_camera import BASELINE, MAX_LENGTH, METRE_PER_NEWTON, MIN_FORCE, StereoEndoscope
from trocar.appearance.lens import Lens
from trocar.appearance.stereo_camera import StereoCamera
from trocar.errors import TrocarError, UnknownName
from trocar.palette import of_cause, rgb
from trocar.simulation import Cylinder, Solid, Sphere
from trocar.spatial import inverse, pose, rotation

WIDE = (-0.25, 0.08, 0.001, -0.002, 0.01)
SMALL = Lens.of_view(np.radians(60.0), 320, 240)


def endoscope(scene, **more):
    try:
        found = StereoEndoscope(scene, **more)
        found.pair()
    except TrocarError as error:
        if "no OpenGL context" not in str(error):
            raise
        pytest.skip(f"nothing can be rendered here: {error}")
    return found


@pytest.fixture(scope="module")
def cart():
    return tr.load_scene("cart_classic")


@pytest.fixture(scope="module")
def eyes(cart):
    return endoscope(cart, lens=SMALL)


def at(image, pixel):
    u, v = np.rint(pixel).astype(int)
    return image[v, u]


# -- optics ----------------------------------------------------------------------------------------------------------


def test_undistort_inverts_distort():
    lens = Lens.of_view(np.radians(70.0), distortion=WIDE)
    v, u = np.mgrid[:480:40, :640:40]
    pixels = np.stack([u, v], axis=-1).astype(float)
    rays = lens.rays(pixels)
    assert np.abs(rays[..., :2] * lens.fx + [lens.cx, lens.cy] - pixels).max() > 20
    np.testing.assert_allclose(lens.project(0.3 * rays), pixels, rtol=0, atol=1e-9)


def test_projection_is_that_of_the_intrinsics_matrix():
    lens = Lens(width=100, height=80, fx=90.0, fy=95.0, cx=48.0, cy=41.0)
    p = np.array([0.01, -0.02, 0.1])
    u = lens.K @ p
    np.testing.assert_allclose(lens.project(p), u[:2] / u[2])
    assert np.isnan(lens.project(-p)).all()


@pytest.mark.parametrize(
    "bad", [{"fx": 0.0}, {"width": 0}, {"cx": np.nan}, {"distortion": (0.1,)}, {"distortion": (np.inf, 0, 0, 0, 0)}]
)
def test_invalid_lenses_are_rejected(bad):
    with pytest.raises(TrocarError):
        Lens(**bad)


def test_a_distortion_that_folds_over_is_rejected():
    with pytest.raises(TrocarError, match="folds over"):
        Lens.of_view(np.radians(90.0), distortion=(-0.6, 0.0, 0.0, 0.0, 0.0)).rays([[0.0, 0.0]])


# -- pictures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eye", ["left", "right"])
def test_each_tip_is_seen_where_the_intrinsics_project_it(cart, eyes, eye):
    seen = eyes.view(eye)
    for name in ("PSM1", "PSM2", "PSM3"):
        p = (inverse(seen.T_world_camera) @ cart.T_world_tip(name))[:3, 3]
        label = seen.labels[at(seen.segmentation, seen.lens.project(p))]
        assert label in (f"{name}/wrist_pitch", f"{name}/wrist_yaw", f"{name}/finger_left", f"{name}/finger_right")
        # the wrist's surface is nearer than the axis inside it, by its radius at most
        assert 0.0 < p[2] - at(seen.depth, seen.lens.project(p)) < 0.008


def with_ball(place, radius=0.004, lens=SMALL, **ecm):
    """An ECM alone and a ball at a place (3,) in front of the middle between its cameras [m]: right, down, away."""
    plain = tr.Scene({"ECM": tr.SceneArm(arm="ECM", **ecm)})
    T_world_tip = plain.T_world_tip("ECM")
    centre = (T_world_tip @ [-place[0], -place[1], place[2], 1.0])[:3]
    scene = tr.Scene({"ECM": tr.SceneArm(arm="ECM", **ecm)}, objects=[Solid("ball", Sphere(centre, radius))])
    return endoscope(scene, lens=lens)


@pytest.mark.parametrize("place", [(0.0, 0.0, 0.05), (0.012, -0.008, 0.08), (-0.03, 0.02, 0.15)])
@pytest.mark.parametrize("scope", ["straight", "up", "down"])
def test_depth_disparity_and_outline_of_a_ball_are_those_of_geometry(place, scope):
    eyes, centres, f = with_ball(place, instrument=scope), {}, SMALL.fx
    for eye, aside in (("left", BASELINE / 2), ("right", -BASELINE / 2)):
        seen = eyes.view(eye)
        p = np.array(place) + [aside, 0.0, 0.0]
        pixel = seen.lens.project(p)
        mask = seen.mask("ball")
        assert at(mask, pixel)
        # along the ray through the centre the ball begins a radius before it
        depth = p[2] * (1.0 - 0.004 / np.linalg.norm(p))
        assert at(seen.depth, pixel) == pytest.approx(depth, abs=2e-4)
        v, u = np.nonzero(mask)
        centres[eye] = np.array([u.mean(), v.mean()])
        assert mask.sum() == pytest.approx(np.pi * (0.004 * f / p[2]) ** 2, rel=0.25)
        points, colours = seen.point_cloud()
        assert len(points) == len(colours)
        on_ball = points[mask[np.isfinite(seen.depth)]]
        np.testing.assert_allclose(np.linalg.norm(on_ball - p, axis=1), 0.004, rtol=0, atol=3e-4)
    disparity = centres["left"] - centres["right"]
    assert disparity[0] == pytest.approx(f * BASELINE / place[2], abs=0.6)
    assert disparity[1] == pytest.approx(0.0, abs=0.3)


def test_a_lens_of_a_view_looks_through_its_middle_and_ends_at_half_the_angle():
    lens = Lens.of_view(np.radians(70.0), 320, 240)
    np.testing.assert_allclose(lens.project([0.0, 0.0, 1.0]), [159.5, 119.5])
    edge = [np.tan(np.radians(35.0)), 0.0, 1.0]
    np.testing.assert_allclose(lens.project(edge), [319.5, 119.5])  # pixels count from centres


def test_a_thirty_degree_scope_looks_thirty_degrees_up_or_down():
    for scope, angle in (("up", -np.pi / 6), ("down", np.pi / 6)):
        scopes = {name: tr.SceneArm(arm="ECM", instrument=name) for name in ("straight", scope)}
        straight, turned = (tr.Scene({"ECM": arm}).T_world_tip("ECM") for arm in scopes.values())
        np.testing.assert_allclose(straight[:3, :3].T @ turned[:3, :3], rotation("x", angle), atol=1e-8)
        up_in_image = straight[:3, 1] @ turned[:3, 2]
        assert np.sign(up_in_image) == (1.0 if scope == "up" else -1.0)


def test_a_distorted_image_matches_the_lens():
    place, lens = (-0.03, 0.02, 0.08), Lens.of_view(np.radians(60.0), 320, 240, distortion=WIDE)
    seen = with_ball(place, lens=lens).view("left")
    p = np.array(place) + [BASELINE / 2, 0.0, 0.0]
    v, u = np.nonzero(seen.mask("ball"))
    np.testing.assert_allclose([u.mean(), v.mean()], lens.project(p), rtol=0, atol=0.7)
    pinhole = Lens.of_view(np.radians(60.0), 320, 240).project(p)
    assert np.linalg.norm(pinhole - lens.project(p)) > 3.0
    on_ball = seen.point_cloud()[0][seen.mask("ball")[np.isfinite(seen.depth)]]
    np.testing.assert_allclose(np.linalg.norm(on_ball - p, axis=1), 0.004, rtol=0, atol=4e-4)
    assert seen.rgb.shape == (240, 320, 3)


def test_the_pair_is_the_colour_of_both_views_and_changes_nothing(cart, eyes):
    cart.reset()
    before = cart.data.qpos.copy()
    left, right = eyes.pair()
    assert (left == eyes.view("left").rgb).all()
    assert (right == eyes.view("right").rgb).all()
    assert (left != right).any()
    assert (cart.data.qpos == before).all()


def test_forces_are_arrows_where_they_act(cart, eyes):
    """An arrow of 2 N to the right is 20 mm long, vermilion, and gone in the next picture."""
    cart.reset()
    plain = eyes.pair()[0].astype(int)
    T = eyes.T_world_camera("left")
    tail, ahead = np.array([-0.01, 0.005, 0.03]), T[:3, :3] @ [1.0, 0.0, 0.0]

    def drawn(force):
        points_and_forces = np.array([[(T @ [*tail, 1.0])[:3], force * ahead]])
        picture = eyes.pair(points_and_forces)[0].astype(int)
        return picture, (picture != plain).any(-1)

    picture, changed = drawn(2.0)
    columns = np.flatnonzero(changed.any(0))
    ends = [eyes.lens.project(np.array(tail + [x, 0.0, 0.0]))[0] for x in (0.0, 0.02)]
    np.testing.assert_allclose([columns[0], columns[-1]], ends, atol=3.0)
    red, green, blue = np.median(picture[changed], axis=0)
    wanted = rgb(of_cause("contact"))
    np.testing.assert_allclose([green / red, blue / red], [wanted[1] / wanted[0], 0.0], atol=0.06)  # in any light
    assert not drawn(0.5 * MIN_FORCE)[1].any()
    assert (drawn(1e6)[0] == drawn(MAX_LENGTH / METRE_PER_NEWTON)[0]).all()
    assert (eyes.pair()[0] == plain).all()


def test_the_view_follows_the_endoscope_and_the_set_up_joints():
    scene = tr.load_scene("cart_classic")
    eyes = endoscope(scene, lens=SMALL)
    before = eyes.pair()[0].astype(int)
    q_setup = scene.cart.q_setup["PSM1"].copy()
    q_setup[0] += 0.01
    scene.set_up("PSM1", q_setup)
    seen = eyes.view("left")
    p = (inverse(seen.T_world_camera) @ scene.T_world_tip("PSM1"))[:3, 3]
    assert seen.labels[at(seen.segmentation, seen.lens.project(p))].startswith("PSM1/")
    assert (np.abs(seen.rgb.astype(int) - before).max(-1) > 20).mean() > 0.01


def test_invalid_cameras_are_rejected(cart, eyes):
    with pytest.raises(TrocarError, match="PSM1 is a PSM"):
        StereoEndoscope(cart, "PSM1")
    with pytest.raises(UnknownName, match="ECM2"):
        StereoEndoscope(cart, "ECM2")
    with pytest.raises(TrocarError, match="baseline must be positive"):
        StereoEndoscope(cart, baseline=0.0)
    with pytest.raises(UnknownName, match="eye 'middle'"):
        eyes.view("middle")
    with pytest.raises(UnknownName, match="PSM9"):
        eyes.view("left").mask("PSM9")


def test_an_endoscope_created_after_a_set_up_move_shows_the_new_positions():
    scene = tr.load_scene("cart_classic")
    early = endoscope(scene, lens=SMALL)
    early.pair()
    scene.set_up("PSM1", scene.cart.q_setup["PSM1"] + [0.01, 0.0, 0.0, 0.0, 0.0, 0.0])
    late = endoscope(scene, lens=SMALL)
    for first, second in zip(early.pair(), late.pair(), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("shape", "equal"),
    [(Cylinder([0.0, 0.0, -0.02], [0.0, 0.0, 0.02], 0.005), False), (Sphere(np.zeros(3), 0.01), True)],
    ids=["post", "ball"],
)
def test_fewer_parts_of_cylinders_change_next_to_no_pixel_and_balls_keep_theirs(shape, equal, monkeypatch):
    sim = tr.Simulator("PSM", objects=[Solid("thing", shape, pose(p=[0.05, 0.0, -0.1]))])
    T, pictures = pose(rotation("x", np.radians(200.0)), [0.05, -0.035, 0.0]), []
    for parts in (studio.STACKS, 16):
        monkeypatch.setattr(studio, "STACKS", parts)
        camera = StereoCamera(sim.scene, T, SMALL, BASELINE)
        try:
            pictures.append(camera.picture("left").astype(int))
        except TrocarError as error:
            if "no OpenGL context" not in str(error):
                raise
            pytest.skip(f"nothing can be rendered here: {error}")
    changed = np.abs(pictures[0] - pictures[1]).max(axis=-1)
    assert not changed.any() if equal else (changed > 2).mean() < 1e-3
