"""Messages over the API: find, read, browse, put, get, repair."""
