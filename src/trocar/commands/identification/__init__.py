"""Commands that identify and calibrate a robot of your own."""
