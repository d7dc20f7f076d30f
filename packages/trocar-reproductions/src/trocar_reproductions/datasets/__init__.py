"""Datasets: published recordings, and functions to download them.

`DATASETS` maps names to datasets, `Dataset.fetch` downloads and verifies files, `fetched_folder` is the default folder.
"""

from trocar_reproductions.datasets.dataset import DATASETS, Dataset, fetched_folder

__all__ = ["DATASETS", "Dataset", "fetched_folder"]
