-- The state and the counters of each bridge link, for dashboards.metrics.bridge_links;
-- times in seconds before now. A link that was never started has no status. There are few
-- links and few branches.
SELECT
    bridge.name AS bridge,
    link.name AS link,
    coalesce(status.state, 'UNINITIALIZED') AS state,
    coalesce(status.received, 0) AS received,
    coalesce(status.sent, 0) AS sent,
    coalesce(status.branched, 0) AS branched,
    coalesce(status.transformed, 0) AS transformed,
    coalesce(status.not_transferred, 0) AS not_transferred,
    coalesce(status.expired, 0) AS expired,
    coalesce(status.dead, 0) AS dead,
    coalesce(status.duplicates, 0) AS duplicates,
    coalesce(status.looped, 0) AS looped,
    coalesce(status.failures, 0) AS failures,
    status.waiting,
    CASE
        WHEN status.waiting = 0 THEN 0
        WHEN status.oldest_at IS NOT NULL
            THEN greatest(extract(epoch FROM statement_timestamp() - status.oldest_at), 0)
    END::float8 AS oldest_s,
    CASE
        WHEN status.last_transfer_at IS NOT NULL THEN greatest(
            extract(epoch FROM statement_timestamp() - status.last_transfer_at), 0
        )
    END::float8 AS idle_s,
    (SELECT count(*) FROM broker_branch AS branch WHERE branch.link_id = link.id)
        AS branches
FROM broker_link AS link
JOIN broker_bridge AS bridge ON bridge.id = link.bridge_id
LEFT JOIN broker_linkstatus AS status ON status.link_id = link.id
ORDER BY bridge.name, link.name;
