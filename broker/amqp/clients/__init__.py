"""Connections of clients: sockets, login, authorities, limits, the registry."""
