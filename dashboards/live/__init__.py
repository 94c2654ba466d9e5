"""Live numbers on open pages: queried once a second, sent over WebSockets."""
