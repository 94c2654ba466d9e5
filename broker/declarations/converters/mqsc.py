"""MQSC scripts of IBM MQ: DEFINE, ALTER and DELETE of queues, topics, subscriptions.

Source:
    IBM MQ, "MQSC commands" and "Rules for using MQSC commands": a line that ends
    with ``+`` or ``-`` goes on, ``*`` begins a comment, names that are not quoted are
    folded to upper case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from broker.declarations.converters.converted import Converted
from broker.declarations.kinds import ADDRESS, ALIAS, MODEL, QUEUE, ObjectKind
from broker.errors.settings import WrongSettings

TOKEN = re.compile(r"\s*([A-Za-z0-9_]+)\s*(?:\(\s*((?:'(?:[^']|'')*+'|[^()'])*+)\))?")
QUOTED = re.compile(r"'((?:[^']|'')*+)'")
Keywords = Mapping[str, str | None]  # None: the keyword has no value

LIMITS = {
    "MAXDEPTH": "max_depth",
    "MAXMSGL": "max_message_bytes",
    "BOTHRESH": "backout_threshold",
    "BOQNAME": "backout_queue",
}
FLAGS: Mapping[tuple[str, str | None], tuple[str, Any]] = {
    ("HARDENBO", None): ("harden_backout", True),
    ("NOHARDENBO", None): ("harden_backout", False),
    ("GET", "DISABLED"): ("paused", True),
    ("GET", "ENABLED"): ("paused", False),
    ("PUT", "DISABLED"): ("put_inhibited", True),
    ("PUT", "ENABLED"): ("put_inhibited", False),
    ("DEFTYPE", "PERMDYN"): ("permanent", True),
    ("DEFTYPE", "TEMPDYN"): ("permanent", False),
}
SUBSCRIBED = {"MDURMDL": "durable_model", "MNDURMDL": "nondurable_model"}
# Keywords that change nothing here, or say what is so anyway.
SAME = {
    ("DEFPSIST", "YES"), ("SHARE", None), ("DEFSOPT", "SHARED"), ("NOTRIGGER", None),
    ("REPLACE", None), ("NOREPLACE", None), ("USAGE", "NORMAL"),
    ("MSGDLVSQ", "PRIORITY"),
}  # fmt: skip
SYNONYMS = {"QL": "QLOCAL", "QA": "QALIAS", "QM": "QMODEL", "QR": "QREMOTE"}
HINTS = {
    "QREMOTE": "make a link of a bridge that sends there (docs/bridges.md)",
    "CHANNEL": "clients connect by AMQP 1.0 or HTTP; brokers, by links of bridges",
    "PROCESS": "a handler or a consumer takes the messages",
}
MAY = {
    "PUT": ["put"], "GET": ["get"], "BROWSE": ["browse"], "INQ": ["inquire"],
    "SET": ["set"], "PASSALL": ["passall"],
    "ALLMQI": ["put", "get", "browse", "inquire"],
    "ALL": ["put", "get", "browse", "inquire", "set", "passall"],
}  # fmt: skip


def convert(text: str) -> Converted:
    """
    Raises:
        WrongSettings: a command cannot be read.
    """
    found = Converted()
    for line, command in commands(text):
        verb, name, *rest = tokens(command, line)
        deed = DEEDS.get(verb[0])
        if deed is None:
            found.notes.append(f"{verb[0]} commands are left out.")
        else:
            kind = SYNONYMS.get(name[0], name[0])
            deed(found, kind, plain(name[1] or ""), dict(rest))
    return found


def commands(text: str) -> Iterator[tuple[int, str]]:
    """Each command, with the number of the line where it begins."""
    waiting, begins = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("*") or not (line.strip() or waiting):
            continue
        begins = begins if waiting else number
        content = line.rstrip()
        more = content[-1:] in ("+", "-")
        # After a + the next line goes on with its first character that is not blank.
        joined = content.lstrip() if waiting.endswith("+") else content
        waiting = (waiting[:-1] if waiting else "") + joined + ("" if more else " ")
        if not more:
            yield from ((begins, one) for one in split(waiting))
            waiting = ""
    if waiting.strip():
        yield from ((begins, one) for one in split(waiting[:-1]))


def split(text: str) -> Iterator[str]:
    """The commands of a text, which ``;`` outside of quotes separates."""
    parts = re.findall(r"(?:'(?:[^']|'')*+'|[^;'])++", text)
    return (one for one in parts if one.strip())


def tokens(command: str, line: int) -> list[tuple[str, str | None]]:
    """Keywords in upper case, each with the text within its parentheses."""
    found, at = [], 0
    while at < len(command.rstrip()):
        token = TOKEN.match(command, at)
        if token is None:
            rest = command[at : at + 40].strip()
            raise WrongSettings(f"line {line}", f"This is no MQSC: {rest!r}.")
        found.append((token[1].upper(), token[2]))
        at = token.end()
    if len(found) < 2:
        found.append(("", None))
    return found


def plain(value: str) -> str:
    """A value without its quotes; what is not quoted is folded to upper case."""
    quoted = QUOTED.fullmatch(value.strip())
    return quoted[1].replace("''", "'") if quoted else value.strip().upper()


def define(found: Converted, kind: str, name: str, keywords: Keywords) -> None:
    maker = MAKERS.get(kind)
    if maker is None:
        hint = HINTS.get(kind, "there is nothing like it here")
        found.notes.append(f"{kind} {name} is left out: {hint}.")
    else:
        maker(found, name, keywords)


def of_queue(kind: ObjectKind, word: str) -> Callable[[Converted, str, Keywords], None]:
    """What makes a queue or a model queue."""

    def make(found: Converted, name: str, keywords: Keywords) -> None:
        values = found.of(kind, name)
        like = plain(keywords.get("LIKE") or "")
        if like:
            values.update(found.of(kind, like))
        for key, value in keywords.items():
            said = None if value is None else plain(value)
            if key in LIMITS and said is not None:
                values[LIMITS[key]] = number(said, key, name)
            elif (key, said) in FLAGS and FLAGS[key, said][0] in kind.attributes:
                attribute, flag = FLAGS[key, said]
                values[attribute] = flag
            elif key == "DESCR" and "description" in kind.attributes:
                values["description"] = said
            elif (key, said) not in SAME and key != "LIKE":
                shown = key if said is None else f"{key}({said})"
                found.notes.append(f"{word} {name}: {shown} is left out.")

    return make


def number(text: str, key: str, name: str) -> Any:
    if key == "BOQNAME":
        return text
    if not text.isdecimal():
        raise WrongSettings(f"{name}, {key}", f"{text!r} is no whole number.")
    return int(text)


def make_alias(found: Converted, name: str, keywords: Keywords) -> None:
    target = keywords.get("TARGET") or keywords.get("TARGQ")
    if target is not None:
        found.of(ALIAS, name)["target"] = plain(target)
    for key in keywords.keys() & {"GET", "PUT"}:
        if plain(keywords[key] or "") == "DISABLED":
            found.notes.append(
                f"QALIAS {name}: {key}(DISABLED) is left out; set it on the queue."
            )


def make_topic(found: Converted, name: str, keywords: Keywords) -> None:
    values = found.of(ADDRESS, plain(keywords.get("TOPICSTR") or "") or name)
    for key, attribute in SUBSCRIBED.items():
        if model := plain(keywords.get(key) or ""):
            values[attribute] = model


def make_subscription(found: Converted, name: str, keywords: Keywords) -> None:
    topic, queue = (plain(keywords.get(key) or "") for key in ("TOPICSTR", "DEST"))
    if not (topic and queue):
        found.notes.append(
            f"SUB {name} is left out: its client subscribes again, by its name."
        )
        return
    values = found.of(QUEUE, queue)
    if values.get("address", topic) != topic:
        found.notes.append(f"SUB {name}: {queue} has the messages of one topic only.")
        return
    values |= {"address": topic, "routing_type": "multicast"}
    if selector := plain(keywords.get("SELECTOR") or ""):
        found.select(values, selector, f"SUB {name}")


def alter(found: Converted, kind: str, name: str, keywords: Keywords) -> None:
    if kind != "QMGR":
        define(found, kind, name, keywords)
    elif dead := plain(keywords.get("DEADQ") or ""):
        found.notes.append(f'Set BROKER_DEAD_LETTER_QUEUE = "{dead}" (ALTER QMGR).')


def delete(found: Converted, kind: str, name: str, keywords: Keywords) -> None:
    objects = {"QLOCAL": QUEUE, "QALIAS": ALIAS, "QMODEL": MODEL}
    if kind in objects:
        found.objects.pop((objects[kind], (name,)), None)
        found.absent[objects[kind], (name,)] = "PURGE" in keywords


def set_rights(found: Converted, kind: str, name: str, keywords: Keywords) -> None:
    if kind != "AUTHREC" or plain(keywords.get("OBJTYPE") or "") != "QUEUE":
        found.notes.append(f"SET {kind} is left out.")
        return
    pattern = plain(keywords.get("PROFILE") or "").replace("**", "#")
    words = plain(keywords.get("AUTHADD") or "").split(",")
    may = [one for word in words for one in MAY.get(word.strip(), [])]
    for key, whose in (("PRINCIPAL", "user"), ("GROUP", "group")):
        if key in keywords and may:
            found.grant(f"{whose}:{plain(keywords[key] or '')}", pattern, may)


MAKERS: Mapping[str, Callable[[Converted, str, Keywords], None]] = {
    "QLOCAL": of_queue(QUEUE, "QLOCAL"),
    "QMODEL": of_queue(MODEL, "QMODEL"),
    "QALIAS": make_alias,
    "TOPIC": make_topic,
    "SUB": make_subscription,
}
DEEDS: Mapping[str, Callable[[Converted, str, str, Keywords], None]] = {
    "DEFINE": define,
    "DEF": define,
    "ALTER": alter,
    "ALT": alter,
    "DELETE": delete,
    "SET": set_rights,
}
