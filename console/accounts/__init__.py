"""Accounts of users: roles, own permissions, sessions, signing in, time zones."""
