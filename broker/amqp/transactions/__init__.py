"""Transactions of clients, from declare to discharge; and what is stored at once."""
