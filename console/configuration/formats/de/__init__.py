"""Formats for German; Django looks for them by language."""
