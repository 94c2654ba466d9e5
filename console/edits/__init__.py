"""An edited copy of one message, for the page, the API and the command line."""
