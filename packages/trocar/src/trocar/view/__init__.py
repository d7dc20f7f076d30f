"""A web page over a running simulation: live arms, recordings, and the mechanism made visible.

    tr.show(sim, controller, reference)     # your own controller in the browser, also in a notebook

Only modules that draw on the page import viser; `film`, `native` and `webxr` work without it.
"""

from trocar.view.own_run import View, show

__all__ = ["View", "show"]
