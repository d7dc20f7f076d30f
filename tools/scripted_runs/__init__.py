"""Scripted runs of a simulated dVRK, recorded bit for bit, to show that a change leaves the robot's behaviour alone.

    python -m tools.scripted_runs -o DIR [--only TEXT]      record all runs, or those whose name contains TEXT
    python -m tools.scripted_runs --compare DIR_A DIR_B     compare two folders; exit status 1 if they differ
    python -m tools.scripted_runs --list                    names of the runs

Record one folder before a change and one after it. A run writes NAME.npz (every state sample and every command, by
topic) and NAME.json (every event with its stamp, in order, and the notes of the run, such as return values). The runs
use the robot's public interface and simulated time only, so that the same code gives the same values on one machine.
"""
