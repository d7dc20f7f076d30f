"""Recipes: the terms of an arm's model and how each is identified; search for a recipe by cross-validation."""
