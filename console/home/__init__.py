"""Overview, Health, preferences, the palette, and the frame of every page."""
