"""Declare a queue from Python: in a script, a migration, or when a program starts."""

from __future__ import annotations

from typing import Any

from broker.declarations.applying import declare
from broker.declarations.attributes import Attribute, named, read_value
from broker.declarations.kinds import ADDRESS, QUEUE, SETTING
from broker.declarations.planning import Declaration
from broker.errors.settings import WrongSettings
from broker.formats.wildcards import configured
from broker.models import Queue

GO_TO = ("dead_letter_address", "expiry_address")


def declare_queue(name: str, /, **attributes: Any) -> Queue:
    """Make sure that a queue exists, with its address, and has these attributes.

    A second call with the same arguments changes nothing, also when several processes
    call it at once. What is not named keeps its value::

        declare_queue("orders", dead_letter_address="DLQ", redelivery_delay="5 s")

    Args:
        name: the name of the queue.
        attributes: attributes of the queue (``address``, ``max_depth``, …), and of the
            settings of its address (``dead_letter_address``, ``max_delivery_attempts``,
            …). A time or a size may be a text with a unit. None is the default. An
            address for dead letters or expired messages that does not exist is created,
            with a queue of the same name.

    Returns:
        The queue.

    Raises:
        WrongSettings: an attribute is unknown, or its value is wrong.
    """
    own = chosen(QUEUE.attributes.values(), attributes)
    rules = chosen(SETTING.attributes.values(), attributes)
    unknown = [each for each in attributes if each not in {**own, **rules}]
    if unknown:
        raise WrongSettings(
            f"queue {name}, {unknown[0]}",
            "There is no such attribute of a queue or of address settings.",
        )
    defaults = QUEUE.defaults((name,))
    values = read(own, f"queue {name}")
    values = {k: defaults[k] if v is None else v for k, v in values.items()}
    wanted = [Declaration(QUEUE, (name,), values)]
    if rules:
        row = QUEUE.named((name,)).first()
        address = values.get("address") or (row.address.name if row else name)
        settings = read(rules, f"queue {name}")
        wanted.append(Declaration(SETTING, (literal(address),), settings))
        ends = {str(settings.get(each) or address) for each in GO_TO} - {address}
        wanted += [
            Declaration(QUEUE, (end,)) for end in sorted(ends) if is_missing(end, name)
        ]
    declare(wanted)
    return Queue.objects.select_related("address").get(name=name)


def chosen(known: Any, given: dict[str, Any]) -> dict[str, tuple[Attribute, Any]]:
    """The given values that are attributes of this kind, by the name that was given."""
    found = ((name, named(known, name), value) for name, value in given.items())
    return {name: (one, value) for name, one, value in found if one is not None}


def read(given: dict[str, tuple[Attribute, Any]], where: str) -> dict[str, Any]:
    return {
        one.name: read_value(one, value, name=name, where=f"{where}, {name}")
        for name, (one, value) in given.items()
    }


def literal(address: str) -> str:
    """The pattern of address settings that matches one address only."""
    syntax = configured()
    signs = {syntax.any_words, syntax.single_word}
    is_plain = signs.isdisjoint(address) or not syntax.markers
    return address if is_plain else f"{syntax.markers[0]}{address}{syntax.markers[1]}"


def is_missing(address: str, queue: str) -> bool:
    """Whether there is neither an address nor a queue of this name."""
    if address == queue or ADDRESS.named((address,)).exists():
        return False
    return not QUEUE.named((address,)).exists()
