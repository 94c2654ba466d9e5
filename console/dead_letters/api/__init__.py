"""The REST interface of dead letters."""
