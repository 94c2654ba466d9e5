"""Authorities of users, credentials, the audit log, and masking."""
