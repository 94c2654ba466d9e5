"""Providers that a link can connect: one module for each kind.

``interface`` is what each must implement. ``registry`` lists them, and loads a module
only when a link uses it.
"""
