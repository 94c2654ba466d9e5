"""User accounts: roles, permissions, sessions, masking, time zones."""
