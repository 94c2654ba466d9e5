"""The REST interface of configuration."""
