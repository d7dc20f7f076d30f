"""Files of a publication, from their authors' repository, each checked by its SHA-256.

They belong to their authors and are not part of this package. A folder of them is laid out as the authors have them, so
that a clone of their repositories and what is fetched here can take each other's place.
"""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from trocar.errors import TrocarError

TIMEOUT = 30.0  # [s] without an answer


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Published files.

    Attributes:
        title, citation: content and authors. repository: address of the authors' repository.
        url: of the folder that `files` are below.
        folder: name of that folder in a data folder.
        files: SHA-256 by path.
    """

    title: str
    citation: str
    repository: str
    url: str
    folder: str
    files: Mapping[str, str]

    def fetch(self, to: Path, progress: Callable[[float], None] = lambda fraction: None) -> list[Path]:
        """Every file, below `to / folder`; returns those that were not there, or not as published.

        A file appears whole and checked or not at all, so an interrupted call is taken up by the next.
        """
        import pooch
        import requests

        logging.getLogger("pooch").setLevel(logging.WARNING)
        root = to / self.folder
        keeper = pooch.create(path=root, base_url=self.url, registry=dict(self.files))
        download = pooch.HTTPDownloader(timeout=TIMEOUT)
        new, missing = [], []
        for k, (name, checksum) in enumerate(self.files.items()):
            progress(k / len(self.files))
            if _has(root / name, checksum):
                continue
            try:
                keeper.fetch(name, downloader=download)
            except requests.HTTPError as error:
                missing.append(f"{name} ({error})")
            except requests.RequestException as error:
                raise TrocarError(
                    f"{self.url} does not answer ({_reason(error)}). With the files from {self.repository} in {root}, "
                    "laid out as there, nothing has to be fetched"
                ) from error
            except ValueError:  # pooch's own, of a checksum
                missing.append(f"{name} (not the published file: its SHA-256 is not {checksum})")
            else:
                new.append(root / name)
        if missing:
            there = len(self.files) - len(missing)
            raise TrocarError(
                f"{there} of {len(self.files)} files of {self.repository} are in {root}, not: {', '.join(missing)}"
            )
        return new


def _has(path: Path, checksum: str) -> bool:
    import pooch

    return path.is_file() and bool(pooch.file_hash(str(path)) == checksum)


def fetched_folder() -> Path:
    """Default folder of `trocar fetch`, where `trocar reproduce` looks for data."""
    import pooch

    return Path(pooch.os_cache("trocar")) / "data"


def _load(name: str) -> Dataset:
    given = tomllib.loads((files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))
    owner = given["repository"].removeprefix("https://github.com/")
    url = f"https://raw.githubusercontent.com/{owner}/{given.pop('revision')}/{given.pop('path')}/"
    return Dataset(url=url, **given)


DATASETS = {name: _load(name) for name in ("wang2019", "ferro2022")}


def _reason(error: Exception) -> str:
    """One or two words for a failed connection; the error itself is a dump of the library's inner objects."""
    import requests  # as above: it takes a moment, for those who fetch

    if isinstance(error, requests.Timeout):
        return "timed out"
    return "no connection" if isinstance(error, requests.ConnectionError) else type(error).__name__
