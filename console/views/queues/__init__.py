"""Pages of queues, their counters, consumers, connections and transactions."""
