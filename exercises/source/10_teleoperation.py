# %% [markdown]
# # 10. Teleoperation over a delay
#
# A master presses a slave against a wall; the force comes back to the hand. A delay in this loop generates
# energy.
# %%

from trocar_reproductions.bilateral import TimeDomainPassivity, contact_runs

# %% [markdown]
# **Task.** Simulate contact with a wall of 1000 N/m for 1.6 s under position-force control, without delay and
# with 10 ms each way: `contact_runs([0.0, 0.01], [1000.0], duration=1.6)`. Compute `swing` (2,), the peak-to-peak
# motion of the hand along z in the last 0.5 s [mm] (`log.oscillation`). Repeat the delayed run with
# `passivity=TimeDomainPassivity()`: its motion is `calm` [mm].
# %% solution
log = contact_runs([0.0, 0.01], [1000.0], duration=1.6)
swing = 1e3 * log.oscillation(0.5)
calm = 1e3 * float(contact_runs([0.01], [1000.0], duration=1.6, passivity=TimeDomainPassivity()).oscillation(0.5)[0])
print(f"without delay {swing[0]:.2f} mm, 10 ms {swing[1]:.2f} mm, with passivity control {calm:.2f} mm")
# %% check
assert swing[1] > 10 * swing[0]
assert calm < 0.5 * swing[1]
