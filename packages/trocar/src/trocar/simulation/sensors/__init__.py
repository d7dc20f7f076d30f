"""Simulated sensors: force at the instrument, motion capture."""
