"""Bridges, their links and parts, over the API."""
