"""A recording or a scene as one HTML file that needs no server and no installation: viser's own serialised scene."""

from __future__ import annotations

import numpy as np
import viser

from trocar.errors import TrocarError
from trocar.robot.description import SceneDescription
from trocar.robot.track import Track
from trocar.simulation import Scene
from trocar.view.client_page import titled
from trocar.view.model_drawing import ModelDrawing
from trocar.view.page import add_floor, add_lights, default_camera
from trocar.view.server import serve

FRAMES_PER_SECOND = 20.0
MAX_FRAMES = 2400  # two minutes


def recording_page(track: Track, compared: Track | None = None) -> str:
    """HTML of a moving arm, with a time line; a second recording is its ghost, where it differs."""
    count = round(track.duration * FRAMES_PER_SECOND) + 1
    if count > MAX_FRAMES:
        limit = MAX_FRAMES / FRAMES_PER_SECOND
        raise TrocarError(
            f"a static page holds {limit:g} s; {track.name} lasts {track.duration:.0f} s: use a part of it"
        )
    server = serve(port=0)
    try:
        frame = track.frame(0.0)
        drawing = ModelDrawing(server.scene, "/arm", track.scene.spec)
        ghost = None if compared is None else ModelDrawing(server.scene, "/ghost", compared.scene.spec, ghost=True)
        drawing.update(frame.qpos)
        _furnish(server, drawing, default_camera(frame, drawing.extent))
        serializer = server.get_scene_serializer()
        for t in np.linspace(0.0, track.duration, count):
            drawing.update(track.frame(float(t)).qpos)
            if ghost is not None and compared is not None:
                ghost.update(compared.frame(float(t)).qpos)
                ghost.hide_where_on(drawing)
            serializer.insert_sleep(1.0 / FRAMES_PER_SECOND)
        return titled(serializer.as_html(), f"{track.name}: {track.arm.name}")
    finally:
        server.stop()


def scene_page(scene: Scene, title: str) -> str:
    """HTML of a scene in its current state."""
    description = SceneDescription.of(scene)
    server = serve(port=0)
    try:
        drawing = ModelDrawing(server.scene, "/scene", description.spec)
        drawing.hang(description.fixed)
        drawing.update(np.array(scene.data.qpos))
        bases = np.array([scene.T_world_base(name)[:3, 3] for name in scene.arms])
        centre = bases.mean(axis=0)
        away = 1.6 + float(np.linalg.norm(bases - centre, axis=1).max())
        _furnish(server, drawing, (centre + away * np.array([0.5, 0.8, 0.35]), centre))
        return titled(server.get_scene_serializer().as_html(), title)
    finally:
        server.stop()


def _furnish(server: viser.ViserServer, drawing: ModelDrawing, camera: tuple[np.ndarray, np.ndarray]) -> None:
    add_lights(server.scene)
    add_floor(server.scene, drawing.extent)
    server.initial_camera.position, server.initial_camera.look_at = camera
