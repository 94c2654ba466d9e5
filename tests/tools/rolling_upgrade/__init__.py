"""An upgrade from an older commit to the wheel of this tree, while messages flow.

    manage.py with_servers python -m tests.tools.rolling_upgrade --old COMMIT

The old installation runs the processes of its Procfile. Clients put over REST, over
AMQP and in the database; handlers note each message in its own transaction. Then the
new version migrates, and its processes take the place of the old ones, one by one. The
default commit is the last one before two migrations.
"""
