"""The reasons why parts of an MQSC script are left out, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping

from broker.declarations.converters.mqsc.reading import ENDS, Command
from broker.formats.inventory import BY_HAND, Inventory

UNREADABLE = "this is no MQSC that can be read; runmqsc refuses such a line, too."
AFTER_END = "it stands after END, and runmqsc does not read it."
NAMELESS = "it needs a name in parentheses, and runmqsc refuses it, too."
OF_THE_MANAGER = (
    "objects that begin with SYSTEM. belong to the queue manager itself; there is"
    " nothing to make of them here."
)
REPLACED = "a later DEFINE with REPLACE defines it anew."
OVERTAKEN = (
    "nothing here has this value: a later command gives another one, or no later DEFINE"
    " takes it from this default object."
)
DEFINED_AGAIN = (
    "it is defined again by a later command. Here it is altered, and keeps its"
    " messages; to begin anew, delete it first: `backout queue delete`."
)
DELETED_BELOW = "a later command deletes it."
SHOWS = "it shows something, and defines nothing."
IS_AN_ACT = (
    "it is an act on the running queue manager, and defines nothing. Here: `backout"
    " purge`, `backout move`, `backout bridge start`, and others"
    " (docs/command-line.md)."
)
NO_RIGHTS_TO_REFRESH = "rights are read at each use; there is nothing to refresh."
GROUPS_OF_KINDS = {
    "CHANNEL": (
        "clients connect by AMQP 1.0 or HTTP (docs/amqp.md), and other brokers by links"
        " of bridges (docs/bridges.md); there are no channels."
    ),
    "LISTENER": "`manage.py broker_listen` listens for AMQP (docs/amqp.md).",
    "NAMELIST": "there are no lists of names; an address feeds any number of queues.",
    "PROCESS": (
        "no message starts a program: a handler or a consumer takes it"
        " (docs/coming-from/ibm-mq.md)."
    ),
    "SERVICE": "programs are started by the system, not by the broker.",
    "AUTHINFO": (
        "who signs in and how is a setting (docs/single-sign-on.md); applications have"
        " credentials (docs/amqp.md)."
    ),
    "CHLAUTH": (
        "who may connect is decided by credentials (docs/amqp.md) and by the network;"
        " what they may do, by authorities (docs/rights.md)."
    ),
    "COMMINFO": "there is no multicast on the network.",
    "POLICY": "messages are not encrypted one by one.",
    "QREMOTE": "make a link of a bridge that sends there (docs/bridges.md).",
}
NOTHING_LIKE_IT = (
    f"there is nothing like it here, and nothing was made of it. {BY_HAND}"
)
REASONS: dict[str, str] = {
    **dict.fromkeys(
        (
            *("TRIGGER", "TRIGTYPE", "TRIGDPTH", "TRIGMPRI", "TRIGDATA", "PROCESS"),
            "INITQ",
        ),
        "no message starts a program: a handler or a consumer takes it"
        " (docs/coming-from/ibm-mq.md).",
    ),
    **dict.fromkeys(
        (
            *("CLUSTER", "CLUSNL", "CLWLPRTY", "CLWLRANK", "CLWLUSEQ", "CLCHNAME"),
            *("DEFBIND", "CLROUTE", "PROXYSUB", "PUBSCOPE", "SUBSCOPE"),
        ),
        "there are no clusters: all processes of the broker share one database.",
    ),
    **dict.fromkeys(
        (
            *("QDEPTHHI", "QDEPTHLO", "QDPMAXEV", "QDPHIEV", "QDPLOEV", "QSVCIEV"),
            "QSVCINT",
        ),
        "there are no event messages: make a rule of alerts (docs/alerts.md).",
    ),
    **dict.fromkeys(
        ("ACCTQ", "MONQ", "STATQ", "OTELPCTL", "OTELTRAC"),
        "what queues do is always counted (docs/metrics.md, docs/tracing.md).",
    ),
    **dict.fromkeys(
        (
            *("CFSTRUCT", "STGCLASS", "INDXTYPE", "TPIPE", "MAXFSIZE", "IMGRCOVQ"),
            *("QSGDISP", "DISTL", "NPMCLASS"),
        ),
        "messages are stored in PostgreSQL; there is nothing to choose.",
    ),
    **dict.fromkeys(
        ("SHARE", "DEFSOPT"),
        "a queue does not refuse a second consumer: run one only, or use groups of"
        " messages.",
    ),
    **dict.fromkeys(
        ("DEFPRTY", "DEFPRESP", "DEFREADA", "PROPCTL", "DEFPSIST", "PUBPRTY"),
        "programs say this with each message, or in their connection.",
    ),
    **dict.fromkeys(
        ("STREAMQ", "STRMQOS"),
        "for a copy of each message, give the other queue the same address, with"
        ' `address` and `routing_type = "multicast"` on both.',
    ),
    **dict.fromkeys(
        ("PUB", "SUB", "DURSUB", "MCAST", "COMMINFO", "NPMSGDLV", "PMSGDLV", "USEDLQ"),
        "who may publish and subscribe is decided by authorities (docs/rights.md), and"
        " each message is stored for each subscription.",
    ),
    "USAGE": (
        "messages for another queue manager do not wait on a queue of their own: make a"
        " link of a bridge (docs/bridges.md)."
    ),
    "MSGDLVSQ": (
        "messages are delivered by priority, and in order within one; put all with the"
        " same."
    ),
    "RETINTVL": "queues are not deleted by age.",
    "DESCR": "such an object has no description here.",
    "GET": "set it on the queue: `backout queue pause`.",
    "PUT": "set it on the queue: `backout queue alter NAME --put-inhibited --yes`.",
    "DEFTYPE": "queues of a model are permanent or temporary.",
    "CAPEXPRY": (
        "set it on the address: `backout setting create ADDRESS --max-expiry-delay`,"
        " in tenths of a second there."
    ),
    "CUSTOM": "only CAPEXPRY is known in it.",
    "EXPIRY": "a queue of an address does not expire; delete it when it is not used.",
    "SUBLEVEL": "no subscription can come before another; use a transformer.",
    "DESTQMGR": "make a link of a bridge that sends there (docs/bridges.md).",
    "DESTCLAS": "its queue is the one that the script names.",
    **dict.fromkeys(
        (
            *("DESTCORL", "PSPROP", "PUBACCT", "PUBAPPID", "USERDATA", "SUBUSER"),
            *("VARUSER", "REQONLY", "WSCHEMA", "SUBTYPE", "DURABLE"),
        ),
        "a message comes to the queue as it was put; nothing is added or replaced.",
    ),
    "WILDCARD": "topics are addresses here, and their names have no wildcards.",
}
MANAGER: Mapping[str, str] = {
    "MAXMSGL": "set BROKER_MAX_MESSAGE_BYTES in the settings.",
    "CHLAUTH": GROUPS_OF_KINDS["CHLAUTH"],
    "CONNAUTH": GROUPS_OF_KINDS["AUTHINFO"],
    "DESCR": "there is no description of the broker; BROKER_NAME is its name.",
}
OF_A_MANAGER = (
    "this is about the queue manager itself, its channels, its clusters or its events,"
    " and there is nothing like it here (docs/coming-from/ibm-mq.md)."
)


def leave(parts: Inventory, command: Command) -> None:
    """Name a command in a comment that cannot be converted."""
    whole = (command.number,)
    if command.verb in ENDS:
        parts.default(command.head)
    elif command.verb == "DISPLAY":
        parts.name(SHOWS, whole)
    elif command.verb == "REFRESH" and command.kind == "SECURITY":
        parts.name(NO_RIGHTS_TO_REFRESH, whole)
    elif command.verb in ("DEFINE", "ALTER", "DELETE", "SET"):
        parts.name(GROUPS_OF_KINDS.get(command.kind, NOTHING_LIKE_IT), whole)
    else:
        parts.name(IS_AN_ACT, whole)


def defined_before(kind: str) -> str:
    return (
        f"there is a {kind} of this name above, and it has no REPLACE or is of another"
        " kind; runmqsc refuses it, too."
    )


def like_elsewhere(name: str) -> str:
    return (
        f"{name} is not defined in this file, so nothing was taken from it. Convert it"
        " before, in the same file, or add what it has."
    )


def not_there(kind: str) -> str:
    return f"there is no {kind} of this name at that point; runmqsc refuses it, too."


def altered_elsewhere(command: str) -> str:
    does = f"`{command}`" if command else "alter it by hand (docs/queues-as-code.md)"
    return f"this file does not define it, so it is not made. If it is here: {does}."


def delete_by_hand(kind: str) -> str:
    if kind == "QREMOTE":
        return "there are no remote queues here; delete the link of the bridge."
    what = "the address of its string" if kind == "TOPIC" else "the queue it fed"
    return f"delete {what} by hand: `backout queue delete`, `backout address delete`."
