"""The audit, for its page, REST and commands."""
