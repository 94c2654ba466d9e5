"""Bridges for pages: links, their status, and the outcome of their messages."""
