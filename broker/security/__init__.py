"""Who may do what: authorities, credentials, the audit log, masking."""
