"""What the pages of Settings show beside Django's forms."""
