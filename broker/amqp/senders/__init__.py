"""Links by which clients get or browse messages: fetches, deliveries, outcomes."""
