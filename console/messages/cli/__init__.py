"""Subcommands of messages."""
