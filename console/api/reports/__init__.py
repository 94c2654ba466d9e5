"""Reports: what they are, their rows and their runs."""
