"""Programs for whoever works on the project. None of them is a test."""
