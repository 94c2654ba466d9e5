"""Providers of messages that a link can connect: one module for each kind.

``interface`` is what a link asks of each. ``registry`` knows which there are, and loads
a module only when a link uses it.
"""
