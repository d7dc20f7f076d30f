"""Folders of the repository."""

from pathlib import Path

SUPPORT = Path(__file__).parent
ROOT = SUPPORT.parents[1]
SOURCES = tuple(sorted((ROOT / "packages").glob("*/src")))
TROCAR = ROOT / "packages" / "trocar" / "src" / "trocar"
