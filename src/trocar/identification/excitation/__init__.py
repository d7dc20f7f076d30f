"""Excitation: motions of least condition number within the limits of an arm, and files to play them."""
