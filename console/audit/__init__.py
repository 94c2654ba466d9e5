"""The audit: what people did."""
