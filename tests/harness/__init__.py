"""Backout in the public harness for job queues in PostgreSQL, beside its peers.

The harness (github.com/hardbyte/postgresql-job-queue-benchmarking) is fetched, never
committed. It starts PostgreSQL and its adapters in containers; here both run natively:
``registration`` changes that in the harness's process, ``cluster`` is the server,
``launches`` are the adapters, ``peers`` installs them. ``backout`` is the adapter of
Backout, by the harness's ``contract``, and ``awa_python`` one of Awa, whose own is a
program in Rust. ``parts`` says what is run, ``table`` what came out::

    python -m tests.harness throughput --systems backout,awa --minutes 2
"""
