"""Transactions of clients, from declare to discharge; and batched commits."""
