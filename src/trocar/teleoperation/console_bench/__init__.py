"""Experiments on the console, each with claims, and its timings."""
