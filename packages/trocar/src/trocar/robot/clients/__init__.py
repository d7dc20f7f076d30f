"""Clients for scripts: classes with the methods of the Python packages `crtk` and `dvrk`, over the bus."""
