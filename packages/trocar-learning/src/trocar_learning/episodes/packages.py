"""Packages that data sets and policies from outside need: the extra `data`."""

from __future__ import annotations

from trocar.optional_packages import Extra

DATA = Extra("data", "data sets and policies from outside")
optional, check_installed = DATA.module, DATA.check_installed
