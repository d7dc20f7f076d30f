"""Pages and panels of tasks, policies and data sets."""
