"""Loads data sets of trocar with lerobot itself and trains a small policy (`make check-lerobot`)."""
