"""Skills on soft tissue: palpation and retraction, with forces."""

import numpy as np
import pytest

import trocar as tr
from trocar.errors import TrocarError
from trocar.simulation import Scene, SceneArm, Tissue
from trocar.simulation.skills import Hands, palpate, retract
from trocar.spatial import pose

Q = np.array([0.0, 0.0, 0.12, 0.0, 0.0, 0.0, 0.0])


def pressed(young):
    """Palpation of a block of tissue below the jaws of a PSM, 1.5 mm deep."""
    psm = tr.load_mechanism("PSM")
    tip = psm.forward_kinematics(Q)
    block = Tissue("block", (0.03, 0.03, 0.015), pose(p=tip[:3, 3] - [0.0, 0.0, 0.03]), cells=(2, 2, 2), young=young)
    scene = Scene({"PSM": SceneArm(arm="PSM", base=np.eye(4), q=Q)}, objects=[block], accuracy="discrete")
    top = tip[:3, 3] - [0.0, 0.0, 0.03 - 0.0075]
    return scene, palpate(Hands(scene), "PSM", top, 1.5e-3, tissue="block")


def test_palpation_tells_stiff_tissue_from_soft_tissue():
    (_, soft), (scene, stiff) = pressed(1e4), pressed(4e4)
    for result in (soft, stiff):
        assert (np.diff(result.force) > 0).all()
        assert result.peak >= result.force.max()
        assert result.inverted == 0
    assert stiff.stiffness == pytest.approx(4 * soft.stiffness, rel=0.1)
    assert not scene.touching()  # the jaws are withdrawn
    with pytest.raises(TrocarError, match="direction"):
        palpate(Hands(scene), "PSM", (0, 0, 0), 1e-3, direction=(0, 0, 0), tissue="block")
    with pytest.raises(TrocarError, match="wall"):
        palpate(Hands(scene), "PSM", (0, 0, 0), 1e-3, tissue="wall")


def test_a_sheet_is_retracted_by_its_edge_against_its_elasticity():
    psm = tr.load_mechanism("PSM")
    # jaws along the insertion axis; the sheet hangs below them, clamped at its lower edge
    tip = psm.forward_kinematics(Q)
    z = tip[:3, 2]
    length, width, thickness, young = 0.03, 0.02, 0.004, 8e4
    R = np.stack([z, tip[:3, 0], np.cross(z, tip[:3, 0])], axis=1)  # x of the sheet along the jaws, normal along tip y
    grip = tip @ pose(p=[0.0, 0.0, 0.012])
    edge = grip[:3, 3] + 0.006 * z
    sheet = Tissue(
        "sheet", (length, width, thickness), pose(R, edge + length / 2 * z), cells=(4, 3, 1), fixed=("+x",), young=young
    )
    scene = Scene({"PSM": SceneArm(arm="PSM", base=np.eye(4), q=Q)}, objects=[sheet], accuracy="discrete")
    result = retract(Hands(scene), "PSM", grip, 0.015, 3e-3, direction=-z, tissue="sheet")
    whole = young * width * thickness / length  # if the whole width were pulled
    assert result.held
    assert 0.3 * whole < result.stiffness < whole
