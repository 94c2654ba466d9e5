"""The frame of every page: navigation, pagination, error responses."""
