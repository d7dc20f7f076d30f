"""Motion and efforts over time, measured or simulated, in npz or CSV files; markers of motion capture."""

from trocar.recording.markers import Markers
from trocar.recording.recording import InvalidRecording, Recording

__all__ = ["InvalidRecording", "Markers", "Recording"]
