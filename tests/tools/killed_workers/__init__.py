"""Kill a worker of Django's tasks again and again: here, and of ``django-tasks-db``;
and one of an asynchronous handler.

    manage.py with_servers python -m tests.tools.killed_workers --kills 5

A worker runs a thousand tasks that each note their number. It is killed by SIGKILL, and
started again at once. At the end, each number is counted.
"""
