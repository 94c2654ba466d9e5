-- Read what a put to an address needs: the settings of expiry at arrival.
--
-- Locks    none.
-- Index    one_address_a_name
-- Returns  the fields of broker.queueing.arrival_expiry.Ruling: the settings of all
--          addresses that define expiry at arrival, each with the time, and whether a
--          queue of this address has limits or a selector.
SELECT match, no_expiry, expiry_delay_ms, min_expiry_delay_ms, max_expiry_delay_ms,
    statement_timestamp(),
    EXISTS (SELECT FROM broker_queue WHERE guarded AND address_id = (
        SELECT id FROM broker_address WHERE name = %(address)s::text))
FROM broker_addresssetting WHERE rules_arrivals;
