"""The REST interface of consumers."""
