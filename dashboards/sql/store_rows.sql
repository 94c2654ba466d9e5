-- Stores rows of reports that the client sends; COPY takes a third of the time of INSERT.
COPY dashboards_reportrow (report, day, run_id, n, cells) FROM STDIN
