"""Panels next to the scene: controls, plots and numbers. They read frames and command the session."""
