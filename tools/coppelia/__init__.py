"""A small client of CoppeliaSim's legacy remote API, the loop of the program of Ferro et al. 2022 on it, and figures.

python -m tools.coppelia                     run all tasks against `trocar serve --coppelia`, compare with the logs
"""
