"""Pages of reports: table, charts, files, schedules, requests for runs."""
