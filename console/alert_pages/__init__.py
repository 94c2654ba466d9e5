"""What pages and the API share about alerts."""
