"""Derives the committed sets of the da Vinci Si arms: `python -m tools.derive_si ARM SET FILE`.

ARM and SET: PSM_Si zhou2025, PSM_Si zhou2025_measured, PSM_Si saw, ECM_Si saw. See identification/si/parameters.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

from trocar.arms import load_arm
from trocar.arms.parameters import Parameters, to_toml
from trocar.errors import check_known
from trocar.files import write_whole
from trocar.identification.si.gravity import coefficients, identified, measured
from trocar.identification.si.parameters import completed
from trocar.mechanics import Mechanism

SETS = {"PSM_Si": ("zhou2025", "zhou2025_measured", "saw"), "ECM_Si": ("saw",)}

LINKS = """- links: of least divergence from the published masses with CAD tensors (links_si.toml), with exactly the
  gravity coefficients D, C, A, B = {coefficients} kg m, m3 = {m3} kg. Only these are measured.
- the two bars and the carriage take their mass from the adjacent links."""
COMMENTS = {
    ("PSM_Si", "zhou2025"): """Dynamic parameters of the da Vinci Si PSM: the authors' identified gravity. SI units.

- gravity: fitted to the gravity compensation torques of Table II. With a constant force K0 at each joint the fit gives
  all fifteen printed numbers to 0.01; without, to 0.16 N m and 0.08 N.
{links}
- friction of yaw, pitch, insertion: from the widths of Table II's non-drift bounds. It grows with the load on yaw and
  pitch (mu), and falls with depth on the insertion (Fx), which is attributed to the cannula.
- ASSUMED: viscous friction (in proportion to Coulomb friction as on the Classic PSM), rotors, the share of the cannula.
- wrist: friction and stiffness of the Classic instrument (Wang et al. 2019) without offsets.""",
    ("PSM_Si", "zhou2025_measured"): """Dynamic parameters of the da Vinci Si PSM as Table II measured it. SI units.

- gravity: the middle of the non-drift bounds, which friction does not affect; not the authors' model. Their
  experiment compensates an arm that has this set with the set zhou2025.
{links}
- all else as in zhou2025.""",
    ("PSM_Si", "saw"): """Dynamic parameters of the da Vinci Si PSM: the dVRK's own gravity compensation. SI units.

- gravity: exactly that of the masses in PSM_Si_physical.json, which has no mass on the carriage. It is 80 to 91 % of
  the gravity that Zhou et al. 2025 identified.
{links}
- friction and rotors as in zhou2025, without the constant forces K0.""",
    ("ECM_Si", "saw"): """Dynamic parameters of the da Vinci Si ECM: the dVRK's own gravity compensation. SI units.

- gravity: exactly that of the masses in ECM_Si_physical.json with the HD endoscope (1.8 kg), all of whose mass is
  on the insertion.
{links}
- ASSUMED: all friction. Yaw and pitch as on the PSM_Si, in proportion to the gear; insertion and roll 4 % of the
  motor's largest effort. Rotors are assumed too.""",
}


def derive(arm_name: str, name: str) -> Parameters:
    """A set made from published and assumed data."""
    check_known("arm of the da Vinci Si", SETS, arm_name)
    check_known(f"set of {arm_name} that this tool derives", SETS[arm_name], name)
    fit = {"zhou2025": identified, "zhou2025_measured": measured}.get(name)
    return completed(arm_name, name, None if fit is None else fit())


def comments(parameters: Parameters) -> list[str]:
    """The head of the parameter file."""
    c = coefficients(Mechanism(load_arm(parameters.arm), parameters))
    text = LINKS.format(coefficients=", ".join(f"{v:.4f}" for v in c[:4]), m3=f"{c[4]:.4f}")
    command = f"Derived by `python -m tools.derive_si {parameters.arm} {parameters.name} FILE`."
    head, rest = COMMENTS[parameters.arm, parameters.name].format(links=text).split("\n\n", 1)
    return [head, "", command, *rest.splitlines()]


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python -m tools.derive_si ARM SET FILE")
    derived = derive(sys.argv[1], sys.argv[2])
    print(write_whole(Path(sys.argv[3]), to_toml(derived, comments(derived))))
