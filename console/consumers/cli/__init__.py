"""Subcommands of consumers."""
