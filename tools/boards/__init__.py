"""A client of the dVRK's controller boards, and runs against a simulated or real controller."""
