"""What is wrong now: one table of conditions for all who tell it.

``conditions``  the table: how each is found, what to do, and where
``problem``     one problem of one subject, and a row of the table
``readings``    what conditions are found in, read once
``causes``      what has the problems: a group of dead letters, a queue, a link
``of_queues``, ``of_dead_letters``, ``of_links``, ``of_work``  how they are found

Alerts, Overview, Health and its badges, metrics, ``/readyz`` and the command line read
the table. A problem has the same condition and subject in all of them.
"""
