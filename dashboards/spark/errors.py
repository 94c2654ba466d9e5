"""Errors that prevent the use of Spark, as sentences for people."""

from __future__ import annotations


class ConfUnreadable(Exception):
    """``BACKOUT_REPORTS_SPARK_CONF`` has settings that cannot be used."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"BACKOUT_REPORTS_SPARK_CONF cannot be used: {self.why}."


class ConnectClientMissing(Exception):
    """``SPARK_REMOTE`` names a server, but the client is not installed."""

    def __str__(self) -> str:
        return (
            "SPARK_REMOTE needs the client of Spark Connect, which is not installed"
            " here. Install pyspark[connect] in the version of the server."
        )
