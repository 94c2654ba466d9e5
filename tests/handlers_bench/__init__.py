"""A handler that does nothing, or writes a row: here, and in other task queues.

Each is run as its users run it, by its own command, on messages that wait. The handler
itself notes when it ran. This is no part of ``tests.bench``, which sets Django up when
it is imported: Django imports these settings first.
"""
