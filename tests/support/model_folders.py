"""Comparison of exported files with the committed model folders."""

import re
from pathlib import Path

import numpy as np

MODELS = Path(__file__).parents[2] / "models"
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def assert_committed(files, name):
    """The folder of this name under models/ has exactly these files (path -> content) and a picture."""
    committed = MODELS / name
    on_disk = {str(path.relative_to(committed)) for path in committed.rglob("*") if path.is_file()}
    assert on_disk == {*files, f"{name}.png"}
    for path, content in files.items():
        old = (committed / path).read_bytes()
        if path.startswith("assets/"):
            # another processor may order the triangles of a hull differently: only their number and extent are compared
            new_corners, old_corners = corners(content), corners(old)
            assert new_corners.shape == old_corners.shape, path
            for end in ("min", "max"):
                ends = (getattr(c.reshape(-1, 3), end)(axis=0) for c in (new_corners, old_corners))
                np.testing.assert_allclose(*ends, atol=1e-7, err_msg=path)
            continue
        new_text, old_text = content.decode(), old.decode()
        assert NUMBER.sub("#", new_text) == NUMBER.sub("#", old_text), f"{path}: run trocar export again"
        values = [np.array([float(x) for x in NUMBER.findall(text)]) for text in (new_text, old_text)]
        np.testing.assert_allclose(*values, rtol=1e-9, atol=1e-12, err_msg=path)


def corners(stl):
    """Triangles (n, 3, 3) of a binary STL file."""
    rows = np.frombuffer(stl[84:], dtype=[("normal", "<3f4"), ("corners", "<(3,3)f4"), ("attribute", "<u2")])
    assert len(rows) == int.from_bytes(stl[80:84], "little")
    return rows["corners"]
