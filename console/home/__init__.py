"""Overview, health and preferences."""
