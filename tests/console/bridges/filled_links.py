"""Links of bridges in each state, for a console with something on every page."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from broker.bridges import commands
from broker.bridges.states import Command
from broker.models import Link
from broker.security.audit import Actor, acting
from tests.console.bridging import (
    beat,
    die_of_link,
    fail,
    make_branch,
    make_link,
    stand,
)

REFUSED = "amqp-east refuses this name and password. Correct them under Settings."
XID = "bk:3f2a:000000000412"
COUNTS = {
    "received": 184_213,
    "duplicates": 3,
    "expired": 41,
    "transformed": 184_169,
    "not_transferred": 12,
    "branched": 7,
    "sent": 184_112,
    "dead": 60,
}


def make_links(user: User, long: str, now: datetime) -> dict[str, list[str]]:
    """Where their pages are, by the name of a URL.

    Args:
        user: who ordered something of one.
        long: a queue with a long name.
    """
    running, failed = make_running(user, now), make_failed(long, now)
    every = [running, failed, *make_others(long, now)]
    letters = [die_of_link(running, f"SendRefused: it is full ({n})") for n in range(4)]
    letters.append(die_of_link(every[-1], "", reason="MESSAGE_EXPIRED"))
    make_branch(failed, XID, messages=100, began_at=now - timedelta(minutes=13))
    beat()
    messages = ["console:message", "console:edit"]
    return {
        "console:bridges": ["/bridges/"],
        "console:new_link": ["/new-link/"],
        "console:link": [at("link", one) for one in every],
        "console:start_link": [at("start_link", failed)],
        "console:resume_link": [at("resume_link", every[2])],
        "console:pause_link": [at("pause_link", running)],
        "console:stop_link": [at("stop_link", running)],
        "console:commit_branch": [at("commit_branch", failed, XID)],
        "console:roll_back_branch": [at("roll_back_branch", failed, XID)],
        **{name: [reverse(name, args=[one]) for one in letters] for name in messages},
    }


def at(name: str, link: Link, *more: object) -> str:
    return reverse(f"console:{name}", args=[link.bridge.name, link.name, *more])


def make_running(user: User, now: datetime) -> Link:
    """At work; it was paused, and started again."""
    link = make_link(
        "orders-out",
        selector="region = 'EU' AND amount > 100",
        transformer="eu-orders",
        transformer_time_limit_s=2.5,
        description="All orders of the EU, to the warehouse.",
    )
    doing = {"waiting": 37, "oldest_at": now, "looked_at": now, "started_at": now}
    stand(link, "STARTED", last_transfer_at=now, **doing, **COUNTS)
    with acting(lambda: Actor.of(user)):
        commands.command(link, Command.PAUSE, reason="the warehouse is moved")
        commands.command(link, Command.START)
    stand(link, "STARTED")
    return link


def make_failed(long: str, now: datetime) -> Link:
    link = make_link("prices-out", bridge="warehouse", source=long, target_at="amqp")
    ago = now - timedelta(minutes=12)
    fail(link, REFUSED, at=ago, waiting=903, oldest_at=ago, last_transfer_at=ago)
    return link


def make_others(long: str, now: datetime) -> list[Link]:
    """Paused, stopped, trying again, never started, disabled."""

    def into(name: str, source_at: str, **more: Any) -> Link:
        more = {"transacted": False} | more
        return make_link(
            name,
            source=name,
            target=long,
            source_at=source_at,
            target_at="this-broker",
            **more,
        )

    paused = into("invoices-in", "rabbitmq", duplicate_detection=True)
    stand(paused, "PAUSED", waiting=1204, oldest_at=now - timedelta(minutes=44))
    stopped = into("returns", "kombu")
    stand(stopped, "STOPPED", last_transfer_at=now - timedelta(days=3), sent=77)
    troubled = into("stock", "stomp", transacted=True)
    stand(troubled, "STARTED", error="nobody answers", error_at=now, failures=17)
    fresh = make_link("a-new-one", target="", target_at="backout")
    off = make_link("an-old-one", enabled=False)
    return [paused, stopped, fresh, off, troubled]
