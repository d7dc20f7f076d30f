"""Rules on who may open the page: host and origin of a request, and the token of its address."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import socket
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from urllib.parse import SplitResult, parse_qs, urlsplit

from websockets.http11 import Request

LOOPBACK = ("127.0.0.1", "::1", "localhost")
EVERY_ADDRESS = ("0.0.0.0", "::", "")
HINT = "Open the address that trocar printed, including its token."


class Access:
    """The token of one server, and the checks of every request to it.

    A page of another web site can send requests here from the user's own browser. It does not know the token, its
    `Origin` is foreign, and a name that it points at this machine (DNS rebinding) is a foreign `Host`. The page's
    address contains the token; the first answer stores it in a cookie, which the page's websocket then sends.

    Args:
        host: address that the server listens on.
    """

    def __init__(self, host: str) -> None:
        self.token = secrets.token_urlsafe(16)
        self._any_address = host in EVERY_ADDRESS
        self._names = {*LOOPBACK, host.lower()}
        if self._any_address:
            self._names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        # unique to this server: cookies do not distinguish ports
        self._cookie = f"trocar-{hashlib.sha256(self.token.encode()).hexdigest()[:16]}"

    @property
    def cookie(self) -> str:
        """Value of `Set-Cookie`: for this browser session, hidden from scripts and from other sites."""
        return f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"

    def refusal(self, request: Request) -> str | None:
        """The reason to refuse a request; None if it may pass."""
        hosts, origins = (request.headers.get_all(name) for name in ("Host", "Origin"))
        host = _split(f"//{hosts[0]}") if len(hosts) == 1 else _split("")
        name = host.hostname if host.path == "" and "@" not in host.netloc else None
        # DNS rebinding needs a name; a request to a numeric address only arrives here if it is this machine's
        if name is None or not (name in self._names or (self._any_address and ip_address(name))):
            return "refused: the page is not served under this name. " + HINT
        if origins and [_split(origin).netloc.lower() for origin in origins] != [hosts[0].lower()]:
            return "refused: requests from other web sites are not served."
        if not any(secrets.compare_digest(token.encode(), self.token.encode()) for token in self._tokens(request)):
            return "refused: the token is missing or belongs to another run. " + HINT
        return None

    def _tokens(self, request: Request) -> list[str]:
        """Tokens in the address and in the cookies of a request."""
        tokens = parse_qs(request.path.partition("?")[2]).get("token", [])
        for header in request.headers.get_all("Cookie"):
            try:
                cookies = SimpleCookie(header)
            except CookieError:
                continue
            if self._cookie in cookies:
                tokens.append(cookies[self._cookie].value)
        return tokens


def _split(url: str) -> SplitResult:
    """Parts of an address; all are empty if it is invalid."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises if the port is not a number
    except ValueError:
        return urlsplit("")
    return parts


def ip_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """A numeric address; None for any other name."""
    with suppress(ValueError):
        return ipaddress.ip_address(name)
    return None
