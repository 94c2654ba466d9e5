"""The application of a project that is upgraded. It runs in both versions."""
