"""Objects that the instruments touch, and the contacts with them."""
