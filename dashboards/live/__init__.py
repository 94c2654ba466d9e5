"""Numbers on open pages: counted for everyone once a second, and sent over sockets."""
