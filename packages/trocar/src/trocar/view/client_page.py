"""The page of viser's client with a title of its own and a scene that is visible at once."""

from __future__ import annotations

import gzip

from websockets.http11 import Response

from trocar.palette import BACKDROP

STYLE = (
    # viser draws the scene at 5 % opacity until a picture of reflections is decoded: 6 to 45 s without a graphics card
    "canvas[data-engine] { opacity: 1 !important } "
    f"html, canvas[data-engine] {{ background: linear-gradient({', '.join(BACKDROP)}) }} "
    # viser's warning that there is no graphics card covers the scene until it is clicked away
    "#webgl-software-rendering { display: none } "
    # messages cover the floor, not the arm
    ".mantine-Notifications-root { top: auto !important; bottom: 1em }"
)


def titled(page: str, title: str) -> str:
    """The page with a title and the style; viser gives it its own name."""
    before, _, rest = page.partition("<title>")
    safe = title.replace("&", "&amp;").replace("<", "&lt;")
    return f"{before}<title>{safe}</title><style>{STYLE}</style>{rest.partition('</title>')[2]}"


def title_page(response: Response) -> None:
    """Change viser's answer with its page: title and style, not compressed."""
    body = gzip.decompress(response.body) if response.headers["Content-Encoding"] == "gzip" else response.body
    response.body = titled(body.decode(), "trocar").encode()
    for name, value in (("Content-Length", str(len(response.body))), ("Content-Encoding", "identity")):
        del response.headers[name]
        response.headers[name] = value
