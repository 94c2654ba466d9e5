"""Kills bridge processes, and cuts their connections, at chosen points of a transfer.

    python manage.py with_servers python -m tests.tools.bridge_faults --kills 100

Each link carries numbered messages while its process is killed, or its connection cut,
before or after some step, drawn by a seed. Then every number is looked for at the
target: which is missing, and which is there more than once.
"""
