"""The da Vinci Si arms: gravity from static poses, and the sets and files made from it."""
