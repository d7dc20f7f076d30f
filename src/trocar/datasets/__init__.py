"""Measured data that others published: where they are, and how a copy is checked."""

from trocar.datasets.dataset import DATASETS, Dataset, fetched_folder

__all__ = ["DATASETS", "Dataset", "fetched_folder"]
