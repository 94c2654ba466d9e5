"""Configuration of bridges: validation, edits, import and export as documents."""
