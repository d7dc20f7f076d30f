"""Excitation: motions of minimum condition number within the limits of an arm, and files to execute them."""
