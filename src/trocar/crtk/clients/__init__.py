"""The script's side: classes with the methods of the Python packages `crtk` and `dvrk`, over the bus."""
