"""Recordings: motion and efforts over time, measured or simulated, and markers of motion capture.

`load_recording` reads any supported file into a `Recording` in the joints of its arm. `Recording.save` and
`Recording.load` write and read npz and csv exactly. `filtered` removes noise without phase, `differences` compares two
recordings. `Markers` holds poses of marked links from motion capture.
"""

from trocar.recording.filters import filtered
from trocar.recording.loading import load_recording
from trocar.recording.markers import Markers
from trocar.recording.recording import InvalidRecording, Recording, differences

__all__ = ["InvalidRecording", "Markers", "Recording", "differences", "filtered", "load_recording"]
