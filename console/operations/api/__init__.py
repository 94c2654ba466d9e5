"""The REST interface of operations."""
