"""The archive and its reports on millions of events, the broker's pace beside it, and
the same questions asked of PostgreSQL and DuckDB."""
