"""Steps 6 and 7 of a transfer: send, and acknowledge or commit, between two providers.

here        both are this broker: one database transaction
outbound    from this broker to another provider
inbound     from another provider to this broker
branches    distributed transactions: prepared at one end, decided by the other
marker      recognises whether a provider without prepare has committed

On failure, a way gives messages back and raises:

SendRefused     the target refuses a message, and the link is transacted or retries
ProviderLost    a connection broke; transactions in doubt are settled later
"""
