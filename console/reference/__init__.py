"""The description of the REST interface, as pages for people."""
