"""The columns of bronze: rows of the database in the archive's format."""
