"""Bridges as their pages show them: links, how each does, what came of its messages."""
