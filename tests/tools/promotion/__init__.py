"""A primary that is killed under load, and a replica that is promoted.

    python -m tests.tools.promotion --bin /usr/lib/postgresql/15/bin

Clients put over REST and in the database, and try each message until it is stored;
handlers note each message in the transaction that accepts it. All of them know both
servers (``host=a,b target_session_attrs=read-write``). With ``--asynchronous`` the
primary does not wait for the replica: what it confirmed last may be lost.
"""
