"""Find a motion that excites the dynamic parameters of an ECM, and check it before it is played."""

from pathlib import Path

import trocar as tr
from trocar.control.trajectories import PeriodicRun, check_path
from trocar.identification.excitation import file as excitation_file
from trocar.identification.excitation.criterion import Criterion
from trocar.identification.excitation.limits import excitation_limits
from trocar.identification.excitation.search import excite, sampled

ecm = tr.load_mechanism("ECM")
criterion, limits = Criterion(ecm), excitation_limits(ecm.arm)
found = excite(criterion, limits, harmonics=4, starts=2, iterations=0.1, seed=1)  # use 1.0 for a real search
excess, where = limits.violation(*sampled(found.motion, 2000)[:2])
print(f"{found.parameters} parameters, starts ended at condition numbers {[round(x) for x in found.starts]}")
print(f"closest limit: {where}, {-excess:.1%} of its range away")
print("least well determined:", *criterion.unexcited(*sampled(found.motion, 100)))
needed = zip(ecm.arm.motors.names, found.effort, ecm.arm.motors.effort, strict=True)
print("largest efforts:", ", ".join(f"{name} {tau:.3g} of {limit:.3g}" for name, tau, limit in needed))

run = PeriodicRun(found.motion, periods=2, home=ecm.arm.home)
print(check_path(ecm, run, acceleration=[10.0] * 4, near_singular=0.0))
rows = excitation_file.rows(ecm.arm, run, rate=100.0)
print(f"{len(rows)} rows in {rows.save(Path('excitation.csv'))}; full speed from {run.full_speed[0]:.1f} s")
