"""Collision queries and motion planning around obstacles."""
