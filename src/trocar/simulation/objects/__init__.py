"""Objects that the instruments can touch, and their contacts.

A kind of object is a subclass of `SceneObject` in a file of its own; its reader in `KINDS` makes it available in scene
files.
"""

from collections.abc import Mapping

from trocar.simulation.objects.scene_object import Reader, SceneObject
from trocar.simulation.objects.soft_slab import SoftSlab, read_slab
from trocar.simulation.objects.solid import READERS, Solid, needle

KINDS: Mapping[str, Reader] = {**READERS, "slab": read_slab}  # by `shape` in a scene file

__all__ = ["KINDS", "SceneObject", "SoftSlab", "Solid", "needle"]
