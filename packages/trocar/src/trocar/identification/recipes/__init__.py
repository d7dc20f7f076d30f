"""Recipes: the model terms of an arm with their identification settings; search for a recipe by cross-validation."""
