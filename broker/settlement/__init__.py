"""How a delivery ends: accepted, backed out, dead-lettered, expired, discarded."""
