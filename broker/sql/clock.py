"""The database's clock, the only clock by which the broker decides."""

from __future__ import annotations

from datetime import datetime

from broker import sql


def database_now() -> datetime:
    """The current time of the database; one round trip."""
    (moment,) = sql.fetch_one("now")
    assert isinstance(moment, datetime)
    return moment
