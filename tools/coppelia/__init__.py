"""A small client of CoppeliaSim's legacy remote API, and the loop of the program of Ferro et al. 2022 on it.

python -m tools.coppelia [--data DIR]      all tasks against `trocar serve coppelia`, timed; with the logs compared
"""
