"""Connections, sessions, producers, consumers and browsers, as JMS 2.0 has them."""
