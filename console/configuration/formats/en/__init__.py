"""Formats for English; Django looks for them by language."""
