"""What clients attach to: queues, addresses, subscriptions, and what they make."""
