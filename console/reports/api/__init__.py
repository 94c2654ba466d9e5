"""The REST interface of reports."""
