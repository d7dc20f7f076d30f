"""The scene of Ferro et al. 2022 for pages and pictures: frames of its arms, and its two vision sensors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future

import numpy as np

from trocar.appearance.films import Picture
from trocar.appearance.lens import Lens
from trocar.mechanics import load_mechanism
from trocar.robot.description import SceneDescription
from trocar.robot.frames import frame_of, measured_arm, simulated_arm
from trocar.robot.messages import ArmFrame, Frame
from trocar.simulation import Scene, SceneArm
from trocar.spatial import Array, pose
from trocar_reproductions.coppelia.pictures import EndoscopePictures
from trocar_reproductions.ferro2022.scene_arm import ScenePSM

ECM = "ECM"
ECM_START = np.array([0.0, 0.2617994, 0.0, 0.0])  # joints J1_ECM to J4_ECM [rad, m]
ECM_LOWER = np.array([-1.3089969, -0.7853982, 0.0, -1.5707963])
ECM_UPPER = np.array([0.7853982, 1.1344641, 0.235, 1.5707963])
# The first two joints turn the other way than the dVRK's; at insertion 0 the tip is this far beyond the dVRK's.
ECM_SIGNS, ECM_OFFSET = np.array([-1.0, -1.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0242766, 0.0])
# Vision sensors: poses in the frame of the dVRK's tip, of the angle of view and size of the scene.
SENSORS = {
    "left": pose(np.eye(3), [0.0006413, 0.0039342, 0.0003646]),
    "right": pose(np.eye(3), [-0.0035727, 0.0036931, -0.0003646]),
}
LENS = Lens.of_view(np.radians(60.0), 360, 288)


class SceneView:
    """A model of all arms that is shown and not simulated.

    Args:
        psms: the simulated arms. bases: T_world_base (4, 4) of these arms and of the ECM, by name.
        parameters, counterweight: of the simulated arms.

    Attributes:
        ecm: positions (4,) of the joints of the endoscope arm, which the scene only places [rad, m].
    """

    def __init__(
        self, psms: Mapping[str, ScenePSM], bases: Mapping[str, Array], parameters: str, counterweight: bool
    ) -> None:
        self._psms, self._bases, self._options = psms, bases, (parameters, counterweight)
        self._mechanism, self._number = load_mechanism(ECM), 0
        self._description: SceneDescription | None = None
        self._pictures: EndoscopePictures | None = None
        self.reset()

    def reset(self) -> None:
        """Return the endoscope arm to its start."""
        self.ecm = ECM_START.copy()

    def close(self) -> None:
        """End the thread that renders pictures."""
        if self._pictures is not None:
            self._pictures.close()

    def place(self, joint: int, position: float) -> None:
        """Place a joint of the endoscope arm; its stops hold."""
        self.ecm[joint] = np.clip(position, ECM_LOWER[joint], ECM_UPPER[joint])

    @property
    def _q_ecm(self) -> Array:
        """Joints (4,) of the endoscope arm as the dVRK counts them."""
        return ECM_SIGNS * self.ecm + ECM_OFFSET

    def sensor_pose(self, eye: str) -> Array:
        """Pose (4, 4) of a vision sensor in the world: x left, y up, z away."""
        T: Array = self._bases[ECM] @ self._mechanism.forward_kinematics(self._q_ecm) @ SENSORS[eye]
        return T

    def picture(self, eye: str) -> Future[Picture]:
        """The picture of a vision sensor at this moment, rendered in another thread."""
        if self._pictures is None:
            self._pictures = EndoscopePictures(ECM, LENS, SENSORS)
        return self._pictures.picture(self.frame(0.0, False, ()), eye)

    def frame(self, time: float, playing: bool, arms: Collection[str] | None = None) -> Frame:
        """This moment, with the state of some arms. Default: all."""
        if self._description is None:
            self._description = SceneDescription.of(self._built())
        self._number += 1
        states = {name: psm.q for name, psm in self._psms.items()} | {ECM: self._q_ecm}
        shown = states if arms is None else [name for name in states if name in arms]
        arms_shown = {name: self._arm_frame(name, time > 0.0) for name in shown}
        qpos = np.concatenate([self._description.arms[name].arm.E @ q for name, q in states.items()])
        return frame_of(self._description, arms_shown, qpos, number=self._number, time=time, playing=playing)

    def _built(self) -> Scene:
        parameters, counterweight = self._options
        arms = {
            name: SceneArm(arm="PSM", parameters=parameters, counterweight=counterweight, base=self._bases[name])
            for name in self._psms
        }
        return Scene({**arms, ECM: SceneArm(arm=ECM, base=self._bases[ECM])}, contacts=False)

    def _arm_frame(self, name: str, stepped: bool) -> ArmFrame:
        if name == ECM:
            return measured_arm(self._mechanism, self._q_ecm, np.zeros(4))
        psm = self._psms[name]
        return simulated_arm(psm.sim, stepped, q=psm.q, tau=psm.efforts.copy() if stepped else None)
