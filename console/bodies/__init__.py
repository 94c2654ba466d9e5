"""Message bodies as readable text."""
