"""Forces beside those of the MuJoCo model: hysteresis, port, brakes, wrenches, faults."""
