"""The dVRK's controllers for a simulated scene."""
