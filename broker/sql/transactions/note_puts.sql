-- Note how many messages units of work have put so far.
--
-- Locks    the rows of these units of work; what is locked is left out, for the next time.
-- Index    broker_unit_of_work_pkey
-- Returns  the ids of the units of work whose number is noted.
WITH free AS MATERIALIZED (
    SELECT id FROM broker_unit_of_work WHERE id = ANY (%(ids)b::bigint[])
    FOR UPDATE SKIP LOCKED
)
UPDATE broker_unit_of_work AS work SET puts = now.puts
FROM free JOIN unnest(%(ids)b::bigint[], %(numbers)b::integer[]) AS now (id, puts) USING (id)
WHERE work.id = free.id
RETURNING work.id;
