"""The archive and its reports on millions of events, the broker's pace beside it, and
DuckDB doing the same in turn."""
