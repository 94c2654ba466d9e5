"""Providers that a link can connect: one module for each kind.

``interface`` defines what each module must implement. ``registry`` lists the providers,
and loads a module only when a link uses it.
"""
