"""Acts on operations: planned, approved, started, changed and undone."""
