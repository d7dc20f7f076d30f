"""The tasks, each with its success test, its expert and its PID policy."""
