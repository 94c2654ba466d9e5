"""The REST interface of alerts."""
