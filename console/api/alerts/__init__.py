"""Alerts, silences, rules and targets, over the API."""
