"""What keeps Spark from being used, in words for people."""

from __future__ import annotations


class ConnectClientMissing(Exception):
    """``SPARK_REMOTE`` names a server, and there is no client to talk to it."""

    def __str__(self) -> str:
        return (
            "SPARK_REMOTE needs the client of Spark Connect, which is not installed"
            " here: install pyspark[connect], of the version that is there."
        )
