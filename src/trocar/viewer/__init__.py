"""The arm in the browser: a live simulation, recordings, and the mechanism made visible.

Nothing here imports viser but the modules that draw on a page (`server`, `page`, `drawing`, `overlays`, `panels`), so
that what runs beside the page (`session`, `driving`, `playback`) works, and is tested, without it.
"""
