-- Lock an address, if it exists, against deletion until the transaction ends.
--
-- Locks    the address, against deletion; others may send to it and change it.
-- Index    one_address_a_name
-- Returns  the id of the address; no row if there is no such address.
SELECT id FROM broker_address WHERE name = %(address)s::text FOR KEY SHARE;
