"""Subcommands of dead letters."""
