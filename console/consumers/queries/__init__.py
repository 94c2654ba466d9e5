"""What clients do, for REST and commands."""
