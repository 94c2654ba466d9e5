"""People: roles, permissions, sessions, masking, time zones."""
