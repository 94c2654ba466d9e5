"""The adapter of Backout: a producer, the dispatcher, and what both have done.

It is a Django project as its users have one: ``settings``, ``handlers``. ``__main__``
runs ``broker_dispatch`` beside a producer of ``put_many``. The dispatcher's processes
also do the housekeeping, so nothing else is needed.
"""
