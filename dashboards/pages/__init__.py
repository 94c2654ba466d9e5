"""A report as a person sees it: table, charts, files, schedules, asking for a run."""
