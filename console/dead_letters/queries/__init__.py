"""What is known of dead letters, for REST and commands."""
