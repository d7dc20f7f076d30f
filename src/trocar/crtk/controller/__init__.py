"""The robot's side: the dVRK's controllers over a simulated scene."""
