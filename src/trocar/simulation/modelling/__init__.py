"""The simulated model in pieces: an arm and its options become a MuJoCo specification."""
