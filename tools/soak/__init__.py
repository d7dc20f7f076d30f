"""Hours of simulated time: periodic motion, free motion and a live page; see `python -m tools.soak --help`."""
