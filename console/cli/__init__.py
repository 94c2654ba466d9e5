"""The command ``manage.py backout``. It calls the same functions as pages and API.

Exit codes: 0 success; 1 refused or failed; 2 wrong usage; 3 nothing to do.
"""
