"""Appearance of the robot: shapes of arms, carts and instruments, cameras, pictures and films."""
