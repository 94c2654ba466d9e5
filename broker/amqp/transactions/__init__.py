"""Transactions of clients, from declare to discharge."""
