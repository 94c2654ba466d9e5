"""Alerts and silences."""
