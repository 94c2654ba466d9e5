"""Links by which clients get or browse: fetches, deliveries, outcomes."""
