"""Reports and their runs over REST."""
