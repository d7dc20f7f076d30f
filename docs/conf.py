"""Settings of the documentation site; `make docs` builds it into build/docs."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # for tools/

project = "trocar"
author = "The trocar authors"
copyright = "the trocar authors"
release = installed("trocar")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["generated/output/**", "generated/static/**"]
html_theme = "furo"
html_title = f"trocar {release}"
html_static_path = ["_static"]
html_extra_path = ["generated/static"]  # scenes as single HTML files
html_css_files = ["site.css"]

# Formulas such as `M ddq + c` in docstrings are code; a name in single backquotes is no reference.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"Array": "Array", "ArrayLike": "ArrayLike"}  # not what NumPy makes of them
autodoc_default_options = {"members": True}
napoleon_google_docstring = True
napoleon_use_ivar = True

# Attributes such as q and dq are of many classes; a short name in a docstring is no reference to one of them.
suppress_warnings = ["ref.python"]


def _inline(translator: Any, node: Any) -> None:
    translator.body.append(convert(node.astext(), display="inline"))
    raise SkipNode


def _display(translator: Any, node: Any) -> None:
    translator.body.append(convert(node.astext(), display="block"))
    raise SkipNode


def _signature(app: Any, kind: str, name: str, found: Any, options: Any, signature: str, result: str) -> Any:
    """Write the aliases of types by their names inside other types too."""
    return tuple(text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text) for text in (signature, result))


def setup(app: Any) -> None:
    """Write formulas as MathML, which browsers draw themselves: no script from another server."""
    app.connect("autodoc-process-signature", _signature)
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_display, None))


html_math_renderer = "mathml"

linkcheck_timeout = 20
linkcheck_retries = 2
# pages that answer programs with an error although they exist
linkcheck_ignore = [r"https://doi\.org/.*"]
