"""A web page over a running simulation: live arms, recordings, and the mechanism made visible.

Only modules that draw on the page import viser; `film`, `effort_bars` and `native` work without it.
"""
