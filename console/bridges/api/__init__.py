"""The REST interface of bridges."""
