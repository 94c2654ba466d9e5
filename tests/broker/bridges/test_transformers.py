"""What transformers may do, and what becomes of what they return."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace

import pytest
from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from broker.bridges.providers.interface import Destination
from broker.bridges.transformers import registry
from broker.bridges.transformers.failing import described, readable
from broker.bridges.transformers.registry import BranchTo, NoTransfer, transforms
from broker.errors.bridges import NoSuchTransformer, TransformerFailed
from broker.queueing.store import NewMessage
from tests.broker.bridges import transformers
from tests.broker.bridges.transforming import (
    here,
    make_context,
    make_message,
    register,
)

APPLICATION = "tests.broker.bridges.discovered"
LONG = "x" * 5000


# What it returns


@pytest.mark.spec("BRIDGE-5")
def test_a_message_is_changed_and_the_one_that_came_stays_as_it_was() -> None:
    message = make_message(properties={"list": ["one"], "n": 1}, subject="order")
    before = deepcopy(message)

    after = here("test-shout", message, a="b")

    assert message == before
    assert isinstance(after, NewMessage)
    assert after.body == b"BODY"
    assert after.subject == "order"
    assert after.properties == {
        "list": ["one", "more"],
        "n": 1,
        "for": "harbour/north",
        "way": ["amqp", "this-broker"],
        "asked": {"a": "b"},
    }


@pytest.mark.spec("BRIDGE-6")
def test_it_may_ask_for_no_transfer() -> None:
    assert here("test-refuse") == NoTransfer()


@pytest.mark.spec("BRIDGE-6")
def test_it_may_branch_to_another_destination() -> None:
    message = make_message(priority=7)

    after = here("test-branch", message, to="north")

    assert after == BranchTo(
        Destination("north", is_topic=True), replace(message, subject="branched")
    )


@pytest.mark.spec("BRIDGE-5")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("test-raise", "LookupError: no such customer 17"),
        ("test-exit", "SystemExit: I leave"),
        (
            "test-nothing",
            "What it returned is None; that is no NewMessage, NoTransfer or BranchTo.",
        ),
        (
            "test-lock",
            "Its property 'a' has a value of the type lock, which is not JSON.",
        ),
    ],
)
def test_what_is_no_outcome_is_a_failure_that_says_why(name: str, why: str) -> None:
    message = make_message()
    before = deepcopy(message)

    with pytest.raises(TransformerFailed) as failed:
        here(name, message)

    assert failed.value.transformer == name
    assert failed.value.why == why
    assert message == before


def test_an_interrupt_is_no_failure_of_the_transformer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> NewMessage:
        raise KeyboardInterrupt

    register(monkeypatch, "test-interrupted", interrupted)

    with pytest.raises(KeyboardInterrupt):
        here("test-interrupted")


class Unreadable(Exception):
    """An exception that fails itself when somebody reads it."""

    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError(), "ValueError"),
        (
            ValueError("a\r\n\tb\x1b[31m\x00c\u202ed\u2028e"),
            "ValueError: a b [31m c d e",
        ),
        (ValueError("\ud800 half"), "ValueError: half"),
        (ValueError("Grüße, 世界"), "ValueError: Grüße, 世界"),
        (ValueError(LONG), f"ValueError: {LONG}"[:1000]),
        (KeyError("tenant"), "KeyError: 'tenant'"),
        (Unreadable(), "Unreadable: (its text cannot be read)"),
    ],
)
def test_the_text_of_an_exception_is_one_short_line(
    error: Exception, text: str
) -> None:
    assert described(error) == text


@given(st.text())
def test_whatever_the_text_is_people_can_read_it(text: str) -> None:
    shown = readable(text)

    assert len(shown) <= 1000
    assert shown.isprintable() or shown == ""
    assert readable(shown) == shown
    shown.encode()


# Which there are


def test_those_that_come_with_the_broker_are_there() -> None:
    found = registry.discover()

    assert {"json-patch", "headers", "route"} <= found.keys()
    assert found["route"].label == "Route by selector"
    assert "when.1" in found["route"].description


@pytest.fixture
def _application(settings: Settings) -> Iterator[None]:
    settings.INSTALLED_APPS = [*django_settings.INSTALLED_APPS, APPLICATION]
    yield
    forget()


def forget() -> None:
    registry.TRANSFORMERS.pop("test-discovered", None)
    sys.modules.pop(f"{APPLICATION}.transformers", None)


@pytest.mark.usefixtures("_application")
def test_one_of_an_installed_application_is_found() -> None:
    found = registry.transformer("test-discovered")

    assert found.label == "It is found"
    assert found.description == "It is found.\n\nAnd what else there is to say."


def test_one_of_a_module_in_the_setting_is_found(settings: Settings) -> None:
    settings.BACKOUT_TRANSFORMERS = [f"{APPLICATION}.transformers"]

    assert registry.transformer("test-discovered").name == "test-discovered"
    forget()


def test_a_name_that_nobody_has_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(NoSuchTransformer, match=r"'no-such'.*headers.*json-patch"):
        here("no-such")
    with pytest.raises(NoSuchTransformer):
        registry.check("no-such", {})


def test_two_cannot_have_one_name() -> None:
    with pytest.raises(ImproperlyConfigured, match="'test-echo' already"):
        transforms("test-echo")(transformers.shout)


def test_a_module_that_is_read_in_again_registers_the_same() -> None:
    before = registry.TRANSFORMERS["test-echo"]

    transforms("test-echo")(transformers.echo)

    assert registry.TRANSFORMERS["test-echo"] == before


def test_one_needs_a_name() -> None:
    with pytest.raises(ImproperlyConfigured, match="needs a name"):
        transforms(" ")(transformers.echo)


def test_one_that_has_to_be_awaited_is_refused() -> None:
    async def later(message: NewMessage, _: registry.Context) -> NewMessage:
        return message

    with pytest.raises(ImproperlyConfigured, match="is async"):
        transforms("test-later")(later)  # type: ignore[arg-type]
    assert "test-later" not in registry.discover()


def test_properties_are_checked_as_the_transformer_declares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "TRANSFORMERS", dict(registry.TRANSFORMERS))

    def check(properties: Mapping[str, str]) -> None:
        if "table" not in properties:
            raise ValueError("Name the table in the property table.")

    transforms("test-checked", check=check)(transformers.echo)

    registry.check("test-checked", {"table": "orders"})
    with pytest.raises(ValueError, match="Name the table"):
        registry.check("test-checked", {})
    registry.check("test-echo", {"anything": "goes"})


def test_a_context_does_not_change() -> None:
    with pytest.raises(AttributeError):
        make_context().link = "other"  # type: ignore[misc]
