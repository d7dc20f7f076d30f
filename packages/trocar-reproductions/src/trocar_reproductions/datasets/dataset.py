"""Files of a publication, from the authors' repository, each verified by its SHA-256.

They belong to their authors and are not part of this package. A data folder has the layout of the authors'
repositories, so a clone of these repositories can replace the downloaded files.
"""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from trocar.errors import TrocarError
from trocar.files import user_cache

TIMEOUT = 30.0  # longest wait for an answer [s]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Published files.

    Attributes:
        title, citation: content and authors. repository: address of the authors' repository.
        url: address of the folder that contains `files`.
        folder: name of that folder within a data folder.
        files: maps paths to SHA-256 checksums.
        urls: addresses of the files that are elsewhere in the repository, by path.
    """

    title: str
    citation: str
    repository: str
    url: str
    folder: str
    files: Mapping[str, str]
    urls: Mapping[str, str] = field(default_factory=dict)

    def fetch(self, to: Path, progress: Callable[[float], None] = lambda fraction: None) -> list[Path]:
        """Download the files that are missing or differ to `to / folder`; returns the downloaded ones.

        Only complete and verified files are saved, so the next call continues an interrupted one.
        """
        import pooch
        import requests

        logging.getLogger("pooch").setLevel(logging.WARNING)
        root = to / self.folder
        keeper = pooch.create(path=root, base_url=self.url, registry=dict(self.files), urls=dict(self.urls))
        download = pooch.HTTPDownloader(timeout=TIMEOUT)
        new, missing = [], []
        for k, (name, checksum) in enumerate(self.files.items()):
            progress(k / len(self.files))
            if (root / name).is_file() and pooch.file_hash(str(root / name)) == checksum:
                continue
            try:
                keeper.fetch(name, downloader=download)
            except requests.HTTPError as error:
                missing.append(f"{name} ({error})")
            except requests.RequestException as error:
                plain = {requests.Timeout: "timed out", requests.ConnectionError: "no connection"}
                reason = next((text for kind, text in plain.items() if isinstance(error, kind)), type(error).__name__)
                raise TrocarError(
                    f"{self.url} does not answer ({reason}). You can copy the files of {self.repository} to {root} "
                    "in the same layout"
                ) from error
            except ValueError:  # raised by pooch for a wrong checksum
                missing.append(f"{name} (differs from the published file: its SHA-256 should be {checksum})")
            else:
                new.append(root / name)
        if missing:
            there = f"{len(self.files) - len(missing)} of {len(self.files)} files of {self.repository}"
            raise TrocarError(f"{there} are in {root}; missing: {', '.join(missing)}")
        return new


def fetched_folder() -> Path:
    """Default folder of `trocar fetch`, where `trocar reproduce` looks for data."""
    return user_cache() / "data"


def _load(name: str) -> Dataset:
    fields = tomllib.loads((files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))
    owner = fields["repository"].removeprefix("https://github.com/")
    root = f"https://raw.githubusercontent.com/{owner}/{fields.pop('revision')}/"
    elsewhere = fields.pop("files_at_root", {})
    fields["files"] |= elsewhere
    return Dataset(url=f"{root}{fields.pop('path')}/", urls={path: root + path for path in elsewhere}, **fields)


DATASETS = {name: _load(name) for name in ("wang2019", "ferro2022", "hwang2020")}
