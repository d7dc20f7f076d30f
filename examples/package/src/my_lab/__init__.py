"""Our own parts of trocar."""
