"""Objects that the instruments can touch, and their contacts."""
