-- Keep an address from being deleted until the transaction ends, if it is there.
--
-- Locks    the address, against its end; others may send there and change it.
-- Index    one_address_a_name
-- Returns  its id; no row where nothing has the name.
SELECT id FROM broker_address WHERE name = %(address)s::text FOR KEY SHARE;
