"""Links by which clients put messages: credit, and settlement after the commit."""
