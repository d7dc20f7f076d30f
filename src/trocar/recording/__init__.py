"""Motion and efforts over time, measured or simulated: one type, kept in npz or CSV files."""

from trocar.recording.recording import InvalidRecording, Recording

__all__ = ["InvalidRecording", "Recording"]
