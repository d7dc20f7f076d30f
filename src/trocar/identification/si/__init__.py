"""The da Vinci Si arms: gravity from static poses, and the published identification of their PSM."""
