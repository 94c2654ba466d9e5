"""Messages, for REST and commands."""
