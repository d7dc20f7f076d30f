"""Packages that sweeps need: the extra `sweep`."""

from __future__ import annotations

from trocar.optional_packages import Extra

SWEEP = Extra("sweep", "sweeps")
optional, check_installed = SWEEP.module, SWEEP.check_installed
