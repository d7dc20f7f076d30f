"""Commands that identify and calibrate your own robot."""
