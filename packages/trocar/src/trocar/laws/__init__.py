"""Laws of the arms' parts that several backends compute: a scalar graph, and generators of code from it.

`servo` is the dVRK's PID, `encoder` its encoders, `coulomb` friction by position and load, `dahl` friction with memory,
`cables` the torque of cables, `slip` friction between solids, `offset_wrist` the inverse kinematics of a shaft with an
offset wrist (PSM). Each is a function of nodes (`graph`), from which functions of NumPy arrays, of numbers and of Warp
are generated (`sources.function_source`), and of C for the loops of `simulation.forces.compiled`. `program` and the
other `sources` generate C, CUDA and JAX for the equations of whole arms in `trocar.batch`.
"""
