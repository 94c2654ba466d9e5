"""Pages of operations: what is ordered, how far it is, who approves."""
