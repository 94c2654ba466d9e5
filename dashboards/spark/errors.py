"""Errors that prevent the use of Spark, as sentences for people."""

from __future__ import annotations


class ConnectClientMissing(Exception):
    """``SPARK_REMOTE`` names a server, but the client is not installed."""

    def __str__(self) -> str:
        return (
            "SPARK_REMOTE needs the client of Spark Connect, which is not installed"
            " here. Install pyspark[connect] in the version of the server."
        )
