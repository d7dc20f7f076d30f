"""TOML files that trocar writes."""

import tomllib

import numpy as np
import pytest

from trocar.errors import TrocarError
from trocar.toml_file import read_toml, toml_text

CONTENT = {
    "name": 'a "quoted" name with \\ and é',
    "count": 3,
    "fine": True,
    "lengths": {"3-4": 0.1 + 0.2, "tiny": 5e-324, "large": 1.7976931348623157e308, "negative": -0.0},
    "drives": {
        "yaw": {"joints": {"yaw": 1.0}, "terms": ["Fv", "Fo"], "hysteresis": [[0.001, 0.2, 0.0], [0.1, 1e-9, -3.0]]},
        "pitch": {"motors": {}, "rows": []},
    },
}


def test_values_read_back_bit_for_bit():
    text = toml_text(CONTENT, ["A comment.", "", "Another."])
    assert text.startswith("# A comment.\n#\n# Another.\n\nname = ")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert repr(tomllib.loads(text)) == repr(CONTENT)  # repr, so that -0.0 and 0.0 differ


def test_entries_of_a_table_stay_on_one_line_and_rows_of_a_matrix_get_one_each():
    lines = toml_text(CONTENT).splitlines()
    assert "[drives.yaw]" in lines
    assert "joints = {yaw = 1.0}" in lines
    assert "    [0.1, 1e-09, -3.0]," in lines


def test_numbers_of_numpy_are_written_as_plain_numbers():
    values = np.random.default_rng(0).normal(size=5)
    read = tomllib.loads(toml_text({"one": values[0], "all": {"list": list(values)}}))
    assert read == {"one": values[0], "all": {"list": values.tolist()}}


def test_a_file_that_cannot_be_read_is_named_with_its_kind(tmp_path):
    with pytest.raises(TrocarError, match=r"the recipe .*none\.toml cannot be read: No such file"):
        read_toml(tmp_path / "none.toml", "recipe")
    (tmp_path / "bad.toml").write_text("a = ")
    with pytest.raises(TrocarError, match=r"the recipe .*bad\.toml is not valid TOML"):
        read_toml(tmp_path / "bad.toml", "recipe")
