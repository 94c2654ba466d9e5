"""Messages over the API: browse, put, get, repair."""
