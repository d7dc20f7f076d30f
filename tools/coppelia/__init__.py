"""A small client of CoppeliaSim's legacy remote API, and the loop of the program of Ferro et al. 2022 on it."""
