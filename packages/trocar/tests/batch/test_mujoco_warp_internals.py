"""The private parts of MuJoCo Warp that the worlds replace: they exist in the version that is installed."""

from __future__ import annotations

import inspect
from importlib.metadata import version

import pytest

from trocar.errors import TrocarError

internals = pytest.importorskip("trocar.batch.worlds.mujoco_warp_internals", exc_type=ImportError)


def test_the_version_is_the_one_whose_parts_are_replaced() -> None:
    installed = version("mujoco-warp")
    assert installed.startswith(f"{internals.VERSION}."), f"compare every part with mujoco-warp {installed}"


@pytest.mark.parametrize("part", internals.PARTS, ids=lambda part: part.name)
def test_a_part_exists_and_is_put_back(part: internals.InternalPart) -> None:
    plain = part.plain
    with part.replaced(print):
        assert part.plain is print
    assert part.plain is plain


@pytest.mark.parametrize(
    ("part", "arguments"), [(internals.FACTORISE, ["m", "d", "ctx"]), (internals.KINEMATICS, ["m", "d"])]
)
def test_a_replaced_function_takes_the_same_arguments(part: internals.InternalPart, arguments: list[str]) -> None:
    assert list(inspect.signature(part.plain).parameters)[: len(arguments)] == arguments


def test_a_missing_part_is_one_line() -> None:
    with pytest.raises(TrocarError, match=r"needs mujoco-warp 4.0: pip install"):
        internals.InternalPart(internals.solver, "_no_such_function").plain  # noqa: B018
