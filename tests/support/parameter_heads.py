"""The comment at the top of a committed parameter file."""

from importlib.resources import files


def head(arm: str, name: str) -> list[str]:
    """Lines of the comment, without the comment signs."""
    text = files("trocar.arms").joinpath("data", "parameters", f"{arm.lower()}_{name}.toml").read_text(encoding="utf-8")
    lines = text.split("\n\n", 1)[0].splitlines()
    return [line.removeprefix("#").removeprefix(" ") for line in lines]
