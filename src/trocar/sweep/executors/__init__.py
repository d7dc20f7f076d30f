"""Executors of a sweep: the same chunks in this process, in several, or on a Ray cluster."""

from trocar.sweep.executors.executor import EXECUTORS, Executor, Lost, load_executor

__all__ = ["EXECUTORS", "Executor", "Lost", "load_executor"]
