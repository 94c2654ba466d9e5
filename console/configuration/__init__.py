"""Settings of addresses, and declarations."""
