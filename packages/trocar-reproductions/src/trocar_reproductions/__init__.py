"""Published results on the da Vinci Research Kit, computed again with trocar.

One folder per publication with its runs, claims (claims.toml) and figures; `bilateral`, a laboratory of force
reflection over a delay; `coppelia`, the remote API of CoppeliaSim; `datasets`, measured data of others. The
publications are listed in `experiments.EXPERIMENTS`.
"""
