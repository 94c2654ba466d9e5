"""People's own pages: credentials, permissions, preferences, second factors."""
