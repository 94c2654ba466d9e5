"""Nodes that clients attach to: queues, addresses, subscriptions, temporary nodes."""
