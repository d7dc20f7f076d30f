"""Timings of parts that `trocar bench` does not cover: `python -m tools.bench NAME` in a checkout."""
