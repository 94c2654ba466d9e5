"""Metrics for Prometheus: the collector and the metric names."""
