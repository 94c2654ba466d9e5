"""Address settings, names, automatic creation; import and export of settings."""
