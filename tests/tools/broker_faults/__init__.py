"""Messages through a queue while its clients and its database are killed.

    manage.py with_servers python -m tests.tools.broker_faults --messages 1000000

Producers put messages and note their numbers in one transaction; consumers note what
they got in the transaction that accepts it. So both are known exactly, whatever is
killed. With ``--loop``, consumers note each number before the statement that accepts
its message and gets the next: such a number may come again, and must be there once.
"""
