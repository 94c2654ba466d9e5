"""What a file is, by its beginning: so that one of another form is refused with a
sentence, and does not become a file with nothing in it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping

from broker.config.documents import FORMAT
from broker.errors.settings import WrongSettings

FORMS: Mapping[str, str] = {
    "rabbitmq": "export of definitions from RabbitMQ",
    "artemis": "broker.xml of ActiveMQ Artemis",
    "activemq": "activemq.xml of ActiveMQ Classic",
    "mqsc": "script of MQSC commands for IBM MQ",
}
BEFORE_ROOT = r"(?:\s++|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\])?[^>]*>)*+"
ROOT = re.compile(rf"{BEFORE_ROOT}<(?:[\w.-]+:)?([\w.-]+)", re.S)
ROOTS = {
    **dict.fromkeys(("broker", "beans", "blueprint"), "activemq"),
    **dict.fromkeys(
        (
            *("configuration", "core", "addresses", "address-settings", "queues"),
            *("security-settings", "jms"),
        ),
        "artemis",
    ),
}
ROWS = {  # A JSON document with one of these keys is an export of RabbitMQ.
    *("queues", "exchanges", "bindings", "policies", "vhosts", "permissions"),
    *("rabbit_version", "rabbitmq_version"),
}
VERBS = (
    r"ALT(?:ER)?|ARCHIVE|BACKUP|CLEAR|DEF(?:INE)?|DELETE|DIS(?:PLAY)?|END|MOVE|PING"
    r"|PURGE|RECOVER|REFRESH|RESET|RESOLVE|RESUME|RVERIFY|SET|STA(?:RT)?|STOP|SUSPEND"
)
COMMAND = re.compile(
    rf"^[ \t]*(?:{VERBS})(?:[ \t]+[A-Z]+|[ \t]*[;+-]?[ \t]*$)", re.M | re.I
)
ELSEWHERE = {
    "jmsbridge": "It is a bridge of Open MQ: `backout bridge import` reads it.",
    FORMAT: "It has address settings of Backout: `backout settings import` reads it.",
}


def text_of(content: bytes) -> str:
    """The text of a file in UTF-8, or in UTF-16 with a byte order mark.

    Raises:
        WrongSettings: it is in another encoding.
    """
    is_wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        return content.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        how = "iconv -f ISO-8859-1 -t UTF-8"
        raise WrongSettings(
            "", f"It is not UTF-8: {error}. Convert it first: {how}."
        ) from None


def require_form(form: str, text: str) -> None:
    """
    Raises:
        WrongSettings: the text is none of this form, with what it is instead.
    """
    found = recognized(text)
    if found != form:
        if found in FORMS:
            found = f"It is a {FORMS[found]}: `backout convert {found}` reads it."
        raise WrongSettings("", f"This is no {FORMS[form]}. {found}")


def recognized(text: str) -> str:
    """The form of a text; or a sentence on what the text is instead."""
    begins = text.lstrip()[:1]
    if not begins:
        return "It is empty."
    if begins == "<":
        root = ROOT.match(text)
        if root is None:
            return "It is XML without an element, unless in a comment."
        said = f"It is XML, and its root is <{root[1]}>."
        return ROOTS.get(root[1]) or ELSEWHERE.get(root[1]) or said
    if begins in "{[" and (found := recognized_json(text)):
        return found
    return "mqsc" if COMMAND.search(text) else recognized_toml(text)


def recognized_json(text: str) -> str:
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        is_toml = text.lstrip().startswith("[")
        return "" if is_toml else f"It is JSON that cannot be read: {error}."
    if not isinstance(document, dict):
        return "It is JSON, and no object."
    if document.get("format") == FORMAT:
        return ELSEWHERE[FORMAT]
    names = ", ".join(f'"{one}"' for one in list(document)[:5]) or "nothing in it"
    return "rabbitmq" if ROWS & document.keys() else f"It is JSON, with {names}."


def recognized_toml(text: str) -> str:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        line = text.strip().partition("\n")[0][:60].rstrip()
        return (
            f"It begins with {line!r}: it is neither XML nor JSON, and has no command"
            " of MQSC."
        )
    return "It is TOML: `backout apply` reads a backout.toml."
