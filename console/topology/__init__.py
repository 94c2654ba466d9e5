"""Topology: addresses, queues and links, and where messages go from each."""
