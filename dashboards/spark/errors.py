"""Errors that prevent the use of Spark, as sentences for people."""

from __future__ import annotations

from broker.errors import StatedError


class ConfUnreadable(StatedError):
    """``BACKOUT_REPORTS_SPARK_CONF`` has settings that cannot be used."""

    why: str

    sentence = "BACKOUT_REPORTS_SPARK_CONF cannot be used: {why}."


class ConnectClientMissing(StatedError):
    """``SPARK_REMOTE`` names a server, but the client is not installed."""

    sentence = (
        "SPARK_REMOTE needs the client of Spark Connect, which is not installed here."
        " Install pyspark[connect] in the version of the server."
    )
