"""Datasets: recordings that others published, and how to fetch them.

`DATASETS` by name; `Dataset.fetch` downloads and checks the files; `fetched_folder` is the default place for them.
"""

from trocar.datasets.dataset import DATASETS, Dataset, fetched_folder

__all__ = ["DATASETS", "Dataset", "fetched_folder"]
