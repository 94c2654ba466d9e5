"""Subcommands of bridges."""
