"""Clients that others have written, against a listener that runs.

Each test carries the numbers of the behaviours that it shows, ``case(7)``; they are
listed in ``cases``. A client that is not installed is skipped, and said to be so.
"""
