-- Delete ids of transferred messages of a link, by age and by number.
--
-- Locks    the deleted rows.
-- Index    seen_by_link_and_time
-- Returns  the number of deleted ids.
WITH oldest AS (
    SELECT seen_at FROM broker_seenmessage WHERE link_id = %(link_id)s::bigint
    ORDER BY seen_at DESC OFFSET %(keep)s::integer LIMIT 1
),
gone AS (
    DELETE FROM broker_seenmessage
    WHERE link_id = %(link_id)s::bigint AND seen_at <= greatest(
        statement_timestamp() - %(keep_for)s::interval,
        (SELECT seen_at FROM oldest))
    RETURNING 1
)
SELECT count(*) FROM gone;
