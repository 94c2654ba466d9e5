"""The pages that describe the API."""
