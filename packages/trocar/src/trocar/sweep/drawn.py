"""Arms sampled from the covariance of an identification, as parameters of `trocar.batch`."""

from __future__ import annotations

from typing import Any

import numpy as np

from trocar.batch import BatchArms
from trocar.identification.drawn_parameters import ELEMENT, DrawnParameters
from trocar.mechanics.inertia import NAMES, standard
from trocar.spatial import Array


class DrawnArms(DrawnParameters):
    """Sampled parameters of many arms at once."""

    def arms(self, nominal: BatchArms, drawn: Array) -> BatchArms:
        """`nominal`, an arm of the same mechanism, with the drawn parameters (N, k) of N arms."""
        tree, drives = self.mechanism.tree, self.mechanism.tree.drives

        def repeated(values: Any) -> Array:
            return np.repeat(np.asarray(values)[..., None], len(drawn), axis=-1)

        parameters: dict[str, Any] = {name: repeated(getattr(tree, name)) for name in ("mass", "com", "inertia")}
        for link in self.links:
            body = tree.names.index(link)
            for k, phi in enumerate(drawn):
                body_inertia = standard(self.link(phi, link))
                parameters["mass"][body, k] = body_inertia.mass
                parameters["com"][body, :, k] = body_inertia.com
                parameters["inertia"][body, :, :, k] = body_inertia.I
        for name, values in zip(self.names, drawn.T, strict=True):
            drive, _, term = name.partition(".")
            if element := ELEMENT.fullmatch(term):
                k = int(np.flatnonzero(drives.dahl_drive == drives.names.index(drive))[int(element[1])])
                changes = {"dahl_F": values, "dahl_slope": drives.dahl_slope[k] * values / drives.dahl_F[k]}
            elif term in NAMES:
                continue
            else:
                k, changes = drives.names.index(drive), {term: values}
            for key, value in changes.items():
                parameters.setdefault(key, repeated(getattr(drives, key)))[k] = value
        return nominal.with_parameters(**parameters)
