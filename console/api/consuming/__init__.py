"""Whoever holds messages: units of work, and ConnectionConsumers."""
