-- Store a link's decision to commit a batch at the other provider, in place of the one
-- before it, which has been committed there.
--
-- Locks    the deleted row.
-- Index    broker_branch_xid_6651b7cf_like
-- Returns  the name of the transaction.
WITH committed AS (
    DELETE FROM broker_branch WHERE xid = %(last)s::text
)
INSERT INTO broker_branch (xid, link_id, kind, messages, detail, began_at)
VALUES (%(xid)s::text, %(link_id)s::bigint, 'decided', %(carried)s::integer, '{}',
    statement_timestamp())
RETURNING xid;
