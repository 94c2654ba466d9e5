-- Rows of reports, as the client sends them; a COPY takes a third of what INSERT does.
COPY dashboards_reportrow (report, day, run_id, n, cells) FROM STDIN
