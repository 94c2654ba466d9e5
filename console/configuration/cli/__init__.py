"""Subcommands of configuration."""
