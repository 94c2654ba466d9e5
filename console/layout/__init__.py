"""What every page has: navigation, home, pagination, error responses."""
