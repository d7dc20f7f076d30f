"""Forces in addition to those of the MuJoCo model: hysteresis, port, brakes, wrenches, faults."""
