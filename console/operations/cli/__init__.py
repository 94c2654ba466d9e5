"""Subcommands of operations."""
