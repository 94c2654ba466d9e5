"""Addresses, their settings, and declarations in files."""
