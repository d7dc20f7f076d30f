"""Building the simulated model: a MuJoCo specification from an arm and its options."""
