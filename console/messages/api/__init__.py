"""The REST interface of messages."""
