"""Experiments on the console as claims, and its processor time."""
