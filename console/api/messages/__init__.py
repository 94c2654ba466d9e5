"""Messages over the API: browsed, put, taken, repaired."""
