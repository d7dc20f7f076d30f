"""Laws of the arms' parts that several backends compute: a scalar graph, and generators of code from it.

`servo` is the dVRK's PID, `encoder` its encoders, `dahl` friction with memory, `offset_wrist` the inverse kinematics of
a shaft with an offset wrist (PSM). Each is a function of nodes (`graph`), from which functions of NumPy arrays, of
numbers and of Warp are generated (`sources.function_source`). `program` and the other `sources` generate C, CUDA and
JAX for the equations of whole arms in `trocar.batch`.
"""
