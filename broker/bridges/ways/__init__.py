"""Steps 6 and 7 of a transfer: send, and acknowledge or commit, between two providers.

    here        both are this broker: one database transaction
    outbound    from this broker to another provider
    inbound     from another provider to this broker
    branches    transactions with two ends: prepared at one, decided by the other
    marker      what tells whether a provider that cannot prepare has committed

A way gives back what it could not carry, and raises:

    SendRefused     the target does not take a message, and the link is transacted; or
                    it is to be tried again
    ProviderLost    a connection broke; what is in doubt is settled when it is back
"""
