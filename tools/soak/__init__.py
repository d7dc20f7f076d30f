"""Hours of simulated time: arms and cart in periodic motion, free motion, and a live page; see `python -m tools.soak`."""
