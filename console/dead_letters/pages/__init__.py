"""Pages of dead letters."""
