"""Dead letters: groups, rules and the discard bin."""
