"""Exporter of what the page in `site/` takes from Python: facts of arms and scenes, and the generated control laws."""
