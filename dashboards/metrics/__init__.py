"""The broker in numbers for Prometheus: what is collected, and its names."""
