"""Pages: forms, converters of URLs, responses to errors."""
