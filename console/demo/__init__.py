"""The demonstration: sample messages of three kinds, some malformed, and consumers.

Installed only if BACKOUT_DEMO is set. No other package depends on it.
"""
