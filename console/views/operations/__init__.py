"""Pages of operations: choosing messages, the plan, progress, approval."""
