-- Say what somebody has to know who puts to an address: all that rules arrivals.
--
-- Locks    none.
-- Index    one_address_a_name
-- Returns  the fields of broker.queueing.arrival_expiry.Ruling: the settings that say something of
--          arrivals, for whatever address; each with the time, and whether a queue of
--          this address has to be asked.
SELECT match, no_expiry, expiry_delay_ms, min_expiry_delay_ms, max_expiry_delay_ms,
    statement_timestamp(),
    EXISTS (SELECT FROM broker_queue WHERE guarded AND address_id = (
        SELECT id FROM broker_address WHERE name = %(address)s::text))
FROM broker_addresssetting WHERE rules_arrivals;
