"""Bridges and their links."""
