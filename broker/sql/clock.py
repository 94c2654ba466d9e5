"""The database's clock: the only one that decides anything."""

from __future__ import annotations

from datetime import datetime

from broker import sql


def database_now() -> datetime:
    """The moment; one round trip."""
    (moment,) = sql.fetch_one("now")
    assert isinstance(moment, datetime)
    return moment
