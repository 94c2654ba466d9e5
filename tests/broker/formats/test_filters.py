"""The language of filters, case by case."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors.messages import InvalidFilter
from broker.formats.filters import (
    KEYS,
    PROPERTY,
    WITH_NAMES,
    WORD,
    Filter,
    Term,
    equal,
    parse,
    paths,
)
from broker.formats.filters.keys import CAUSES
from broker.formats.filters.values import Between, Compared, Is, Moment, Text
from broker.models import DeadLetter
from tests.broker.filters import CHARACTERS, STEPS, filters

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
SECOND, INSTANT = timedelta(seconds=1), timedelta(microseconds=1)


def at(*numbers: int, length: timedelta) -> Moment:
    return Moment(datetime(*numbers, tzinfo=UTC), length)  # type: ignore[arg-type, misc]


def only(text: str) -> Term:
    (term,) = parse(text).terms
    return term


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("", ""),
        ("  \n", ""),
        ("state:dead   queue:orders", "state:dead queue:orders"),
        ("state:dead state:dead", "state:dead"),
        ("STATE:Dead", "state:dead"),
        ("state:scheduled,in_flight", "state:delayed,in-flight"),
        ("is:dead subject:x backouts:3", "state:dead type:x tries:3"),
        ("cause:NO_ROUTE", "cause:no-route"),
        ("-queue:a,b", "-queue:a,b"),
        ("queue:orders.**", "queue:orders.*"),
        ('queue:"a*b"', 'queue:"a*b"'),
        ('queue:a*"b c"', 'queue:a*"b c"'),
        ('queue:"or"ders', "queue:orders"),
        ('error:*row*"no such"*', 'error:row*"no such"'),
        ("priority:4..", "priority:>=4"),
        ("priority:..4", "priority:<=4"),
        ("priority:1..3,9", "priority:1..3,9"),
        ("size:>10kB", "size:>10000"),
        ("size:1.5KiB", "size:1536"),
        ("at:2026-05-14", "at:2026-05-14"),
        (
            "at:2026-05-14T02:00Z..03:00Z",
            "at:2026-05-14T02:00Z..2026-05-14T03:00Z",
        ),
        (
            "at:2026-05-14T02:00+02:00..03:00",
            "at:2026-05-14T00:00Z..2026-05-14T01:00Z",
        ),
        ('at:"2026-05-14 02:00:07.5"', "at:2026-05-14T02:00:07.500000Z"),
        ("age:>90m", "age:>1h30min"),
        ("age:1w..10d", "age:7d..10d"),
        ("age:<0s", "age:<0s"),
        ("h.tenant:t7,t8", "h.tenant:t7,t8"),
        ("h.order.id:7", "h.order.id:7"),
        ('h."a b":7', 'h."a b":7'),
        ("h.n:>-1.50", "h.n:>-1.5"),
        ("h.n:-0.0..1", "h.n:0..1"),
        ("body.customer.id:4711", "body.customer.id:4711"),
        ("BODY.Customer.id:>1.50", "body.Customer.id:>1.5"),
        ("-body.items[].sku:a,b*", "-body.items[].sku:a,b*"),
        ('body."a.b":x', 'body."a.b":x'),
        ('body.a"b c"."d":x', 'body."ab c".d:x'),
        ("body.[].0:true", "body.[].0:true"),
        ('body."[]":1', 'body."[]":1'),
        ("body:x", "body:x"),
        ("17", "id:17"),
        ("17,18", "id:17,18"),
        ('"17"', '"17"'),
        ("-timeout", "-timeout"),
        ("ID:414d51", '"ID:414d51"'),
        ("no such row", "no such row"),
        ("99999999999999999999", '"99999999999999999999"'),
    ],
)
def test_what_is_read_has_a_normal_form(text: str, normal: str) -> None:
    assert str(parse(text)) == normal


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("queue:a*b", (Is(Text(("a", "b"))),)),
        ("queue:*", (Is(Text(("", ""))),)),
        ('queue:""', (Is(Text(("",))),)),
        ("tries:>2", (Compared(">", 2),)),
        ("size:1k..2M", (Between(1000, 2_000_000),)),
        ("age:>2h30m", (Compared(">", timedelta(hours=2.5)),)),
        ("h.n:<=2.5", (Compared("<=", Decimal("2.5")),)),
        ("h.n:7", (Is(Text(("7",))),)),
        ("at:2026-05-14", (Is(at(2026, 5, 14, length=DAY)),)),
        ("at:<2026-05-14T02:00", (Compared("<", at(2026, 5, 14, 2, length=MINUTE)),)),
        ("at:2026-05-14T02:00:07", (Is(at(2026, 5, 14, 2, 0, 7, length=SECOND)),)),
        (
            "at:2026-05-14T02:00:07.000009Z",
            (Is(at(2026, 5, 14, 2, 0, 7, 9, length=INSTANT)),),
        ),
        (
            "due:2026-05-14..2026-05-15T01:00",
            (Between(at(2026, 5, 14, length=DAY), at(2026, 5, 15, 1, length=MINUTE)),),
        ),
    ],
)
def test_values_are_of_the_kind_of_their_key(
    text: str, values: tuple[object, ...]
) -> None:
    assert only(text).alternatives == values


def test_words_without_a_key_are_ids_or_words() -> None:
    assert only("17").key == KEYS["id"]
    assert only("17,eighteen").key == WORD
    assert only("h.tenant:x") == Term(PROPERTY, (Is(Text(("x",))),), "tenant")
    assert only("-17").is_negated


@pytest.mark.parametrize(
    ("text", "position", "why"),
    [
        ("queu:x", 1, "there is no key queu; did you mean queue?"),
        ("  -tennant:x", 4, "there is no key tennant"),
        ("http://shop", 1, "(in quotes, it is looked for as words)"),
        ("state:ded", 7, "there is no state ded; did you mean dead?"),
        ("state:xyz", 7, "there are ready, delayed, in-flight, dead and discarded"),
        ("state:dead queue:", 18, "it ends where the value should"),
        ("queue: x", 7, "a blank stands where the value should"),
        ("queue:a,", 9, "it ends where the value should"),
        ("priority:>x", 11, "x is not a whole number"),
        ("priority:-1", 10, "-1 is not a whole number"),
        ("id:9223372036854775808", 4, "is not a whole number"),
        ("priority:5..1", 10, "this range ends before it begins"),
        ("queue:>a", 8, "queue is no number and no time"),
        ("queue:a..b", 7, "put signs that it has in quotes"),
        ("size:1EB", 6, "is not a number of bytes, such as 500, 10kB or 1MiB"),
        ("age:2h", 5, "no age is exact; write >2h or <"),
        ("age:>soon", 6, "soon is not a duration, such as 90s"),
        ("age:>999999999w", 6, "longer than a hundred years"),
        ("at:>2h", 5, "how long ago is age:>2h"),
        ("at:yesterday", 4, "is not a time, such as 2026-05-14"),
        ("at:2026-02-30", 4, "there is no such time as 2026-02-30"),
        ("at:0001-01-01T00:00+02:00", 4, "there is no such time"),
        ("at:9999-12-31", 4, "there is no such time"),
        ("at:2026-01-02T03:00..02:00", 4, "this range ends before it begins"),
        ("h.n:>x", 6, "a property is compared with a number here"),
        ("h.:x", 1, "name the property, as in h.tenant:t7"),
        ('h."":x', 1, "name the property"),
        ("body.n:>x", 9, "a value in a body is compared with a number here"),
        ("body.:x", 1, "name each step of the path, as in body.customer.id:4711"),
        ("x body.a..b:x", 3, "name each step of the path"),
        ("body.a[0]:x", 1, "[] at the end of a step only: items[].sku"),
        ("error:*", 7, "say at least one character"),
        ("queue:a*b*c*d*e*f*g*h*i*j", 7, "at most 8 stars"),
        ('state:dead "no such', 12, "these quotes are not closed"),
        ("- x", 2, "a blank stands where a key with a colon should"),
        ("state:dead\0", 11, "no message can hold this character"),
        ("x" * 2001, 2001, "it has more than 2,000 characters"),
        ("a " * 33, 65, "at most 32 terms"),
        ("id:" + ",".join(map(str, range(101))), 1, "at most 100 values"),
    ],
)
def test_errors_say_what_is_wrong_and_where(text: str, position: int, why: str) -> None:
    with pytest.raises(InvalidFilter) as refused:
        parse(text)
    assert refused.value.position == position
    assert why in str(refused.value)
    assert refused.value.filter == text


@given(filters())
def test_what_is_written_is_read_as_the_same(wanted: Filter) -> None:
    assert parse(str(wanted)) == wanted


@given(st.text(CHARACTERS | st.sampled_from('":,*.-<>h '), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    position = None
    try:
        found = parse(text)
    except InvalidFilter as refused:
        position = refused.position

    if position is None:
        assert parse(str(found)) == found
    else:
        assert 1 <= position <= len(text) + 1


@given(STEPS)
def test_a_path_that_is_written_is_read_as_the_same(steps: paths.Steps) -> None:
    assert paths.read(paths.write(steps)) == steps


def test_a_term_more_takes_the_place_of_another_value() -> None:
    wanted = parse("state:dead queue:a h.x:1 error:row tries:>1")

    assert str(wanted.plus(only("queue:b"))) == (
        "state:dead h.x:1 error:row tries:>1 queue:b"
    )
    assert str(wanted.plus(only("h.y:1"))) == f"{wanted} h.y:1"
    assert str(wanted.plus(only("h.x:2"))).endswith("error:row tries:>1 h.x:2")
    assert str(wanted.plus(only("-queue:b"))) == f"{wanted} -queue:b"
    assert str(wanted.plus(only("error:late"))) == f"{wanted} error:late"
    assert str(wanted.plus(only("tries:<9"))) == f"{wanted} tries:<9"
    assert len(wanted.plus(only("queue:a")).terms) == 5


def test_a_term_less_leaves_the_others() -> None:
    wanted = parse("state:dead queue:a")

    assert str(wanted.minus(only("state:dead"))) == "queue:a"
    assert wanted.minus(only("queue:b")) == wanted
    assert not Filter()


def test_what_is_clicked_is_meant_as_it_stands() -> None:
    term = equal("h", 'a*b" -c:', name="x y")

    assert str(term) == r'h."x y":"a*b\" -c:"'
    assert only(str(term)) == term


def test_every_cause_can_be_asked_for() -> None:
    causes = [one.lower().replace("_", "-") for one in DeadLetter.Cause.values]
    assert list(CAUSES) == causes


def test_every_key_and_choice_is_in_the_manual() -> None:
    manual = (Path(__file__).parents[3] / "docs/filters.md").read_text()
    table = dict(re.findall(r"^\| `([\w.-]+)` \| (.+) \|$", manual, re.M))

    assert list(table) == [*KEYS, *WITH_NAMES]
    for key in KEYS.values():
        assert [one for one in key.choices if f"`{one}`" not in table[key.name]] == []
    (example,) = re.findall(r"```\n(.+)\n```", manual)
    assert str(parse(example)) == example
