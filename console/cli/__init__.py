"""The command line, ``manage.py backout``: what pages and the API do, for terminals and
scripts, by the same functions.

Exit codes: 0 done, or shown; 1 refused, or failed; 2 not understood; 3 there was
nothing to do.
"""
