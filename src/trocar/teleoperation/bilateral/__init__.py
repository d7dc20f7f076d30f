"""Bilateral control of a dynamic master and slave over a channel with delay."""
