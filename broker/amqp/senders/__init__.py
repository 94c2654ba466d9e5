"""What clients get and browse: looks, deliveries, outcomes."""
