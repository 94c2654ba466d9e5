"""What clients put: credit, and the answer once it is stored."""
