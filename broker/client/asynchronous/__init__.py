"""The client API for asynchronous code: ``aput``, ``aput_many``, ``aconsumer`` and
``aunit_of_work``.

Statements run in a few threads of this process that have connections of their own
(``threads``), so an event loop is never blocked. Puts that wait share statements and a
commit (``puts``). Code that is within a transaction of Django's is served by the thread
that has it (``joining``).
"""
