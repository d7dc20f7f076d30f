"""Teleoperation of simulated slaves by simulated masters."""
