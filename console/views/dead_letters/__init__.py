"""Pages of dead letters: the list, groups, rules."""
