"""Pages: Overview, Health, preferences, the palette, signing in, probes."""
