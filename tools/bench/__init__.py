"""Benches of transports, sweeps, teleoperation and the page: `python -m tools.bench NAME`."""
