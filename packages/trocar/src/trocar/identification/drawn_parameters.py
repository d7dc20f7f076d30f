"""Parameter sets sampled from the covariance of an identification."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trocar.arms.parameters import Parameters
from trocar.errors import TrocarError
from trocar.identification.identified_file import covariance
from trocar.mechanics import Mechanism
from trocar.mechanics.inertia import NAMES, pseudo_inertia, standard
from trocar.spatial import Array

DRIVE_TERMS = ("Im", "Fv", "Fc", "K0", "K", "K2", "Fx", "mu")
NOT_NEGATIVE = ("Fv", "Fc", "mu")
MAX_DRAWS = 200  # attempts for one arm
ELEMENT = re.compile(r"hysteresis\[(\d+)\]\.F")  # a Dahl element among the names of parameters


class DrawnParameters:
    """Samples of the parameters of an identified set: normal with its covariance, and physically consistent.

    A sample in which a link's pseudo-inertia is not positive definite, or a rotor has no inertia, is rejected and drawn
    again. Negative friction becomes zero; the slope of a friction element changes in proportion to its force, so that
    it stays passive. The bias Fo has no effect on the motion and is not changed.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        if mechanism.parameters is None or mechanism.parameters.path is None:
            raise TrocarError(f"the {mechanism.arm.name} has no parameter file with a covariance to sample from")
        self.mechanism = mechanism
        names, C = covariance(mechanism.parameters.path, mechanism.arm.name)
        value = dict(zip(mechanism.parameter_names, mechanism.parameter_vector, strict=True))
        columns = [i for i, name in enumerate(names) if name in value and self._drawn(name, names)]
        self.names = tuple(names[i] for i in columns)
        self.values = np.array([value[name] for name in self.names])
        scales = np.sqrt(np.maximum(np.diag(C)[columns], 1e-300))
        values, axes = np.linalg.eigh(C[np.ix_(columns, columns)] / np.outer(scales, scales))
        # The symmetric root: signs of eigenvectors, which depend on the version of NumPy, cancel in it.
        self._root = scales[:, None] * ((axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T)
        self._rotors = np.array([name.endswith(".Im") for name in self.names])
        self._inertia = [i for i, name in enumerate(self.names) if name.partition(".")[2] in NAMES]
        self.links = list(dict.fromkeys(self.names[i].partition(".")[0] for i in self._inertia))
        terms = [name.partition(".")[2] for name in self.names]
        self._positive = np.array([term in NOT_NEGATIVE or term.endswith("].F") for term in terms])

    def _drawn(self, name: str, names: Sequence[str]) -> bool:
        drive, _, term = name.partition(".")
        if "hysteresis" not in term:
            return term in NAMES or term in DRIVE_TERMS
        # The set omits elements without friction; if one is missing, the indices of the others do not match.
        start = f"{drive}.hysteresis"
        sources = names, self.mechanism.parameter_names
        in_set, in_model = ({x for x in xs if x.startswith(start) and ELEMENT.search(x)} for xs in sources)
        return in_set == in_model and name in in_set

    def draw(self, sigma: float, seed: int) -> tuple[Array, int]:
        """Parameters (k,) at `sigma` times the covariance's standard deviations, and the number of attempts."""
        rng = np.random.default_rng(seed)
        for count in range(1, MAX_DRAWS + 1):
            phi = self.values + sigma * self._root @ rng.normal(size=self._root.shape[1])
            if self._consistent(phi):
                return np.where(self._positive, np.maximum(phi, 0.0), phi), count
        raise TrocarError(f"none of {MAX_DRAWS} samples at {sigma} standard deviations is physically consistent")

    def _consistent(self, phi: Array) -> bool:
        links = (pseudo_inertia(self.link(phi, link)) for link in self.links)
        return bool((phi[self._rotors] > 0).all()) and all(np.linalg.eigvalsh(P)[0] > 0 for P in links)

    def link(self, phi: Array, link: str) -> Array:
        """Inertial parameters (10,) of a link in a sample."""
        return phi[[self.names.index(f"{link}.{name}") for name in NAMES]]

    def parameters(self, phi: Array) -> Parameters:
        """The parameter set of a sample (k,), which has no file."""
        nominal = self.mechanism.dynamic_parameters
        values = dict(zip(self.names, phi.tolist(), strict=True))
        drives = []
        for drive in nominal.drives:
            terms = {term: values[name] for term in DRIVE_TERMS if (name := f"{drive.name}.{term}") in values}
            elements = list(drive.hysteresis)
            for k, dahl in enumerate(elements):
                if (name := f"{drive.name}.hysteresis[{k}].F") in values:
                    slope = dahl.slope * values[name] / dahl.F if dahl.F else dahl.slope
                    elements[k] = replace(dahl, F=values[name], slope=slope)
            drives.append(replace(drive, **terms, hysteresis=tuple(elements)))
        links = {link: standard(self.link(phi, link)) for link in self.links}
        return replace(
            nominal,
            name=f"{nominal.name}, drawn",
            inertias={**nominal.inertias, **links},
            drives=tuple(drives),
            path="",
        )
