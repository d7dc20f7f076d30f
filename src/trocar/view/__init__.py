"""A web page over a running simulation: live arms, recordings, and the mechanism made visible.

Only modules that draw on the page import viser; `film`, `native` and `webxr` work without it.
"""
