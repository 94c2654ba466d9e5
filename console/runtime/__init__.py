"""The servers and processes of one machine: PostgreSQL, Redis, supervision."""
