-- Delete auto-created addresses without queues and subscriptions.
--
-- Locks    the addresses; an address that another transaction has locked is skipped.
-- Index    none: there are few addresses.
-- Returns  the names of the deleted addresses.
DELETE FROM broker_address WHERE id IN (
    SELECT id FROM broker_address AS address
    WHERE auto_created
      AND NOT EXISTS (SELECT FROM broker_queue WHERE address_id = address.id)
      AND NOT EXISTS (SELECT FROM broker_subscription WHERE address_id = address.id)
    ORDER BY id
    FOR UPDATE SKIP LOCKED
)
RETURNING name;
