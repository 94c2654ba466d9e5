"""The body of a message in a form that a person can read."""
