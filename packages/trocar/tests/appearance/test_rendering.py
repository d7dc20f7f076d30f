"""Pictures show the arm at its position, and rendering changes nothing."""

import gc
import importlib
import io
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from PIL import Image

from trocar.appearance import CAMERAS, Trace, films, render, render_video, rendering, save_png, studio, view
from trocar.errors import TrocarError, UnknownName
from trocar.mechanics import load_cart
from trocar.simulation import Box, Filament, Scene, SceneArm, Simulator, Solid
from trocar.spatial import pose

SIZE = (320, 240)
HOME = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.4])
TURNED = np.array([0.9, -0.5, 0.20, 0.5, 0.6, -0.4, 0.9])


@pytest.fixture(scope="module")
def sim():
    result = Simulator("PSM")
    try:
        render(result, "iso", SIZE)
    except TrocarError as error:
        if "no OpenGL context" not in str(error):
            raise
        pytest.skip(f"nothing can be rendered here: {error}")
    return result


def pixel(sim, camera, point, size=SIZE):
    """Row and column at which a camera sees a point (3,) of the base [m]."""
    free = view(sim, camera)
    azimuth, elevation = np.radians([free.azimuth, free.elevation])
    forward = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    offset = np.asarray(point) - (free.lookat - free.distance * forward)
    scale = size[1] / 2 / np.tan(np.radians(sim.model.vis.global_.fovy) / 2) / (offset @ forward)
    return (
        round(size[1] / 2 - scale * (offset @ np.cross(right, forward))),
        round(size[0] / 2 + scale * (offset @ right)),
    )


@pytest.mark.parametrize("camera", CAMERAS)
def test_a_picture_is_not_empty(sim, camera):
    sim.reset(HOME)
    image = render(sim, camera, SIZE)
    assert image.shape == (240, 320, 3)
    assert image.dtype == np.uint8
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 300


@pytest.mark.parametrize("camera", ["iso", "side"])
def test_the_arm_is_drawn_at_its_position(sim, camera):
    """Between two postures the picture changes where the moving links project to, and not at the fixed base."""
    sim.reset(TURNED)
    other = render(sim, camera, SIZE).astype(int)
    sim.reset(HOME)
    image = render(sim, camera, SIZE).astype(int)
    change = np.abs(image - other).max(-1)
    column = sim.data.body("end").xpos + [0.0, 0.0, 0.25]
    bar = (sim.data.body("bottom").xpos + sim.data.body("end").xpos) / 2 + [0.0, 0.0, 0.02]
    base = sim.data.body("back").xpos + [0.0, -0.2, 0.0]
    assert change[pixel(sim, camera, column)] > 30
    assert change[pixel(sim, camera, bar)] > 12
    assert change[pixel(sim, camera, base)] == 0


def test_the_close_up_follows_the_tip(sim):
    """The dark blue wrist is seen next to the tip, wherever the arm is."""
    for q in (HOME, TURNED):
        sim.reset(q)
        image = render(sim, "tip", SIZE).astype(int)
        wrist = image[pixel(sim, "tip", sim.data.body("wrist_pitch").xpos * 0.5 + 0.5 * sim.tip_pose()[:3, 3])]
        assert wrist[2] > 1.3 * wrist[0]


def test_a_trace_is_drawn_at_its_position(sim):
    sim.reset(HOME)
    ends = np.array([[0.1, -0.1, -0.1], [0.1, 0.15, 0.2]])
    before, after = (
        render(sim, "side", SIZE, traces=traces, shadows=False).astype(int)
        for traces in ((), [Trace(ends, (1.0, 0.0, 0.0, 1.0), 3.0)])
    )
    change = np.abs(after - before).max(-1)
    row, column = pixel(sim, "side", ends.mean(axis=0))
    assert change[row - 2 : row + 3, column - 2 : column + 3].max() > 60
    assert (change > 60).mean() < 0.03


@pytest.mark.usefixtures("sim")  # skips where nothing can be drawn
def test_a_thread_that_is_not_in_the_model_is_drawn(monkeypatch):
    post = Solid("post", Box((0, 0, 0), (0.01, 0.01, 0.01)), pose(p=[0.1, 0.0, -0.1]))
    line = np.array([[0.1, 0.0, -0.1], [0.1, 0.0, -0.0]])
    scene = Scene({"PSM": SceneArm(arm="PSM")}, objects=[post, Filament("thread", line, ("post", None))])
    drawn = render(scene, size=SIZE)
    monkeypatch.setattr(scene, "lines", list)
    changed = (drawn != render(scene, size=SIZE)).any(axis=2)
    assert 10 < changed.sum() < 0.02 * changed.size


@pytest.mark.parametrize("points", [np.zeros(3), np.zeros((4, 2)), np.full((2, 3), np.nan)])
def test_a_trace_needs_points(points):
    with pytest.raises(TrocarError, match="finite points"):
        Trace(points)


def test_too_long_a_trace_is_rejected(sim):
    with pytest.raises(TrocarError, match="at most 4000 points"):
        render(sim, "iso", SIZE, traces=[Trace(np.zeros((4001, 3)))])


def test_a_custom_camera_is_used(sim):
    sim.reset(HOME)
    mine = view(sim, "iso")
    ours = render(sim, "iso", SIZE, shadows=False)
    np.testing.assert_array_equal(render(sim, mine, SIZE, shadows=False), ours)
    mine.distance *= 2
    assert (render(sim, mine, SIZE, shadows=False) != ours).any()


@pytest.mark.parametrize(("camera", "size"), [("iso", (320, 240)), ("side", (200, 300)), ("side", (400, 150))])
def test_the_whole_arm_is_in_the_picture_and_fills_it(sim, camera, size):
    """Every drawn corner projects inside the picture, and some come close to two opposite edges."""
    free = view(sim, camera, size)
    azimuth, elevation = np.radians([free.azimuth, free.elevation])
    ahead = np.array([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)])
    right = np.array([np.sin(azimuth), -np.cos(azimuth), 0.0])
    offset = rendering.studio(sim.scene).corners - (free.lookat - free.distance * ahead)
    half = np.tan(np.radians(sim.model.vis.global_.fovy) / 2) * (offset @ ahead)
    x, y = offset @ right / half * size[1] / size[0], offset @ np.cross(right, ahead) / half
    ends = np.array([x.min(), x.max(), y.min(), y.max()])
    assert (np.abs(ends) < 0.95).all()
    assert (np.abs(ends[:2]) > 0.9).all() or (np.abs(ends[2:]) > 0.9).all()


def test_rendering_changes_neither_model_nor_state(sim):
    sim.reset(TURNED)
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    before, after = np.empty((2, mujoco.mj_stateSize(sim.model, kind)))
    shapes = sim.model.ngeom, sim.model.nlight, sim.model.ntex, len(sim.spec.geoms)
    mujoco.mj_getState(sim.model, sim.data, before, kind)
    render(sim, "iso", SIZE)
    mujoco.mj_getState(sim.model, sim.data, after, kind)
    np.testing.assert_array_equal(before, after)
    assert shapes == (sim.model.ngeom, sim.model.nlight, sim.model.ntex, len(sim.spec.geoms))


def test_size_may_change_between_pictures_and_the_same_state_gives_the_same_picture(sim):
    sim.reset(HOME)
    first = render(sim, "iso", SIZE, shadows=False)
    assert render(sim, "iso", (101, 77), shadows=False).shape == (77, 101, 3)
    np.testing.assert_array_equal(render(sim, "iso", SIZE, shadows=False), first)


@pytest.mark.usefixtures("sim")
def test_the_studio_of_a_deleted_simulator_is_freed():
    gc.collect()
    before = len(rendering._STUDIOS.by_scene)
    other = Simulator("PSM")
    render(other, "side", SIZE, shadows=False)
    assert len(rendering._STUDIOS.by_scene) == before + 1
    del other
    gc.collect()
    assert len(rendering._STUDIOS.by_scene) == before


def test_unknown_camera_and_empty_size_are_rejected():
    sim = Simulator("PSM")
    with pytest.raises(UnknownName, match="iso, side, cart, tip"):
        render(sim, "front")
    with pytest.raises(TrocarError, match="width, height"):
        render(sim, "iso", (0, 100))


def test_missing_opengl_names_the_packages(monkeypatch):
    def missing(name):
        raise ImportError(f"no {name}")

    monkeypatch.setenv("MUJOCO_GL", "egl")
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(TrocarError, match="libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri"):
        studio._new_gl_context()


def frames(count=3):
    """Distinct small pictures."""
    return [np.full((24, 32, 3), 60 * k, dtype=np.uint8) for k in range(count)]


def test_png_holds_the_picture(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (24, 32, 3), dtype=np.uint8)
    path = save_png(tmp_path / "new" / "picture.png", image)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(path.read_bytes()))), image)


def test_gif_holds_every_frame_at_the_given_rate(tmp_path):
    with Image.open(render_video(tmp_path / "film.gif", frames(), fps=20.0)) as film:
        assert film.n_frames == 3
        assert film.info["duration"] == 50


def test_mp4_without_ffmpeg_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(films.shutil, "which", lambda name: None)
    monkeypatch.setattr(films.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TrocarError, match=r"install it .*or write a \.gif"):
        render_video(tmp_path / "film.mp4", frames())
    assert not list(tmp_path.iterdir())


def test_bad_films_are_rejected(tmp_path):
    with pytest.raises(TrocarError, match="at least one frame"):
        render_video(tmp_path / "film.gif", [])
    with pytest.raises(TrocarError, match="fps"):
        render_video(tmp_path / "film.gif", frames(), fps=0.0)
    with pytest.raises(UnknownName, match="film format"):
        render_video(tmp_path / "film.avi", frames())


def test_simulators_drawn_in_turn_show_their_own_state(sim):
    other = Simulator("MTML")
    sim.reset(HOME)
    render(sim, "iso", SIZE, shadows=False)
    render(other, "iso", SIZE, shadows=False)
    sim.reset(TURNED)
    after_the_other = render(sim, "iso", SIZE, shadows=False)
    assert (after_the_other == render(sim, "iso", SIZE, shadows=False)).all()


def test_a_label_is_placed_at_the_first_link(sim):
    sim.reset(HOME)
    plain, named = (render(sim, "side", SIZE, shadows=False, labels=labels).astype(int) for labels in (False, True))
    change = np.abs(named - plain).max(-1)
    row, column = pixel(sim, "side", sim.body_pose("yaw")[:3, 3])
    assert change[row - 3 : row + 4, column - 3 : column + 4].max() > 60
    assert 0 < (change > 30).mean() < 0.02


def test_the_arms_of_a_cart_are_named_at_their_first_links(sim, monkeypatch):
    names = {}
    monkeypatch.setattr(rendering, "labelled", lambda picture, scene, points: names.update(points) or picture)
    cart = load_cart("Classic")
    render(cart, size=(64, 48), shadows=False, labels=True)
    assert tuple(names) == cart.arms
    sim.reset(sim.arm.home)
    wanted = cart.T_world_base("PSM1") @ sim.body_pose("yaw")
    np.testing.assert_allclose(names["PSM1"], wanted[:3, 3], atol=1e-6)


def test_labels_at_one_place_do_not_overlap(sim):
    from trocar.appearance.rendering import labelled, pixels

    render(sim, "side", SIZE, shadows=False)
    scene, point = rendering.studio(sim.scene).scene, np.array([0.0, -0.2, 0.1])
    white = np.full((SIZE[1], SIZE[0], 3), 255, dtype=np.uint8)
    one, two = (
        (labelled(white, scene, dict.fromkeys(names, point)) != 255).any(-1).sum()
        for names in (("PSM1",), ("PSM1", "PSM2"))
    )
    assert two == pytest.approx(2 * one, rel=0.05)
    np.testing.assert_allclose(pixels(scene, point[None], SIZE)[0][::-1], pixel(sim, "side", point), atol=1.0)


def test_a_context_in_which_nothing_can_be_drawn_is_refused(monkeypatch):
    """As GLFW's without a display, which only warns."""
    monkeypatch.setenv("MUJOCO_GL", "glfw")
    monkeypatch.setattr(
        mujoco, "GLContext", lambda width, height: SimpleNamespace(make_current=lambda: None), raising=False
    )
    with ThreadPoolExecutor(1) as thread, pytest.raises(TrocarError, match=r"no OpenGL context .*MUJOCO_GL=glfw"):
        thread.submit(studio.gl_context).result()  # this thread may have a context
