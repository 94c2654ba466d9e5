"""Connections, sessions, producers, consumers and browsers, as in JMS 2.0."""
