"""What clients put: credit, the database, the answer."""
