"""Rules tables as text: what IBM MQ's handler reads, and where something is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors.rules import InvalidRules
from broker.operations.rules import Action, Control, Rule, Table, read, write
from broker.operations.rules.keywords import (
    KEYWORDS,
    LARGEST,
    NAME,
    NUMBERS,
    KeywordPosition,
)
from broker.operations.rules.lexer import OURS
from broker.operations.rules.printer import WIDTH

TABLE = """\
*********************************************
* Rules for the dead letters of this broker *
*********************************************
inputqm(' ')  inputq(' '), retryint(30) WAIT(YES)

* First try again what was refused only for a while.
REASON(MQRC_Q_FULL) ACTION(RETRY) RETRY(5)
REASON(MQRC_PUT_INHIBITED), ACTION(RETRY), RETRY(5)

* Requests of one partner go back to it.
MSGTYPE(MQMT_REQUEST) REPLYQM(NORTH.*) +
  ACTION(FWD) FWDQ(DEADQ) FWDQM(&REPLYQM)
DESTQM(south.1) +
* a comment may stand anywhere

   action(fwd) fwdq(&DESTQ) fwdqm(south.2) header(no)
REPLYQM('West One') ACTION(FWD) FWDQ(ALARM) FWDQM(WEST.SYSTEM) PUTAUT(CTX)
PERSIST(MQPER_NOT_PERSISTENT) ACTION (DISCARD)
FEEDBACK(258) FORMAT(' ') APPLTYPE(*) ACTION(IGNORE)
REPLYQM('?*') ACTION(FWD) FWDQ(BY.HAND) FWDQM(&REPLYQM)
ACTION(FWD) FWDQ(BY.HAND)
"""
RULES = (
    Rule(Action.RETRY, (("REASON", 2053),), retry=5),
    Rule(Action.RETRY, (("REASON", 2051),), retry=5),
    Rule(
        Action.FWD,
        (("MSGTYPE", 1), ("REPLYQM", "NORTH.*")),
        forward_queue="DEADQ",
        forward_manager="&REPLYQM",
    ),
    Rule(
        Action.FWD,
        (("DESTQM", "SOUTH.1"),),
        forward_queue="&DESTQ",
        forward_manager="SOUTH.2",
        keeps_header=False,
    ),
    Rule(
        Action.FWD,
        (("REPLYQM", "West One"),),
        forward_queue="ALARM",
        forward_manager="WEST.SYSTEM",
        as_sender=True,
    ),
    Rule(Action.DISCARD, (("PERSIST", 0),)),
    Rule(Action.IGNORE, (("FEEDBACK", 258), ("FORMAT", ""))),
    Rule(
        Action.FWD,
        (("REPLYQM", "?*"),),
        forward_queue="BY.HAND",
        forward_manager="&REPLYQM",
    ),
    Rule(Action.FWD, forward_queue="BY.HAND"),
)


def faults(text: str, queue: str = "") -> list[str]:
    with pytest.raises(InvalidRules) as refused:
        read(text, queue=queue)
    return [f"{one.line}:{one.column} {one.why}" for one in refused.value.faults]


def test_a_table_as_ibm_s_handler_reads_it() -> None:
    table = read(TABLE)

    assert table.rules == RULES
    assert table.control == Control(retry_interval_s=30)
    assert [rule.line for rule in table.rules] == [7, 8, 11, 13, 17, 18, 19, 20, 21]


def test_a_table_is_written_so_that_it_is_read_as_the_same() -> None:
    assert read(write(read(TABLE))) == read(TABLE)


def test_lines_go_on_as_their_last_sign_says() -> None:
    assert read("APPLNAME('ABC+\n  D') ACTION(IGNORE)").rules[0].patterns == (
        ("APPLNAME", "ABCD"),
    )
    assert read("APPLNAME('ABC-\n  D') ACTION(IGNORE)").rules[0].patterns == (
        ("APPLNAME", "ABC  D"),
    )
    assert read("APPLNAME('A+') ACTION(IGN+\r\n\tORE)\r\n").rules[0].patterns == (
        ("APPLNAME", "A+"),
    )


def test_small_letters_mean_capitals_unless_they_are_quoted() -> None:
    (rule,) = read("destq(orders) replyq('answers') action(Ignore)").rules
    assert rule.patterns == (("DESTQ", "ORDERS"), ("REPLYQ", "answers"))
    (rule,) = read("USERID('o''neill') ACTION(IGNORE)").rules
    assert rule.patterns == (("USERID", "o'neill"),)


def test_our_own_rules_are_comments_for_ibm_s_handler() -> None:
    text = (
        "*! FINGERPRINT(ABC*) PROPERTY('tenant=t7') +\n"
        "*! FILTER('age:>2h -h.a:''x''') ACTION(RETRY)\n"
        "ACTION(IGNORE)\n"
    )
    ours, theirs = read(text).rules

    assert dict(ours.patterns) == {
        "FINGERPRINT": "abc*",
        "PROPERTY": "tenant=t7",
        "FILTER": "age:>2h -h.a:\"'x'\"",
    }
    assert ours.is_ours
    assert not theirs.is_ours
    written = write(read(text)).splitlines()
    assert [line for line in written if not line.startswith("*")] == ["ACTION(IGNORE)"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", ["1:1 a table has at least one rule"]),
        ("* nothing\n\n", ["1:1 a table has at least one rule"]),
        ("ACTION(RETRY", ["1:13 the parenthesis is not closed"]),
        ("ACTION('RETRY)", ["1:8 these quotes are not closed"]),
        ("DESTQ(A B) ACTION(RETRY)", ["1:9 B stands within a value; put"]),
        ("REASON 2053 ACTION(RETRY)", ["1:8 2 stands where", "1:8 REASON needs"]),
        ("  RESON(1) ACTION(RETRY)", ["1:3 there is no keyword RESON; did you mean"]),
        ("REASON(MQRC_Q_FUL) ACTION(RETRY)", ["1:8 REASON is a number up to 999"]),
        ("MSGTYPE(MQRC_Q_FULL) ACTION(RETRY)", ["1:9 MSGTYPE is a number"]),
        ("MSGTYPE('2*') ACTION(RETRY)", ["1:9 MSGTYPE is a number"]),
        ("REASON(1000000000) ACTION(RETRY)", ["1:8 REASON is a number"]),
        ("FORMAT('') ACTION(RETRY)", ["1:8 FORMAT needs at least one character"]),
        ("FORMAT( ) ACTION(RETRY)", ["1:9 FORMAT needs at least one character"]),
        ("FORMAT('ABCDEFGHI') ACTION(RETRY)", ["1:16 FORMAT has at most 8"]),
        ("DESTQ(a-b) ACTION(RETRY)", ["1:8 - has to stand in single quotes"]),
        ("REASON(1)", ["1:1 this rule has no ACTION"]),
        ("ACTION(JUMP)", ["1:8 ACTION is DISCARD, IGNORE, RETRY or FWD"]),
        ("ACTION(RETRY) RETRY(0)", ["1:21 RETRY is 1 at least"]),
        ("ACTION(RETRY) ACTION(FWD)", ["1:15 ACTION stands", "1:15 ACTION(FWD) needs"]),
        ("ACTION(FWD)", ["1:1 ACTION(FWD) needs FWDQ"]),
        ("ACTION(FWD) FWDQ(' ')", ["1:18 FWDQ cannot be blank"]),
        ("ACTION(FWD) FWDQ(A*)", ["1:19 FWDQ is one name"]),
        ("ACTION(FWD) FWDQ(&USERID)", ["1:18 what is not a name is &DESTQ or"]),
        ("HEADER(MAYBE) ACTION(RETRY)", ["1:8 HEADER is YES or NO"]),
        ("ACTION(RETRY) +\n\n", ["1:15 the table ends, but this rule goes on"]),
        ("ACTION(RETRY) +\n*! A\n ", ["1:15 the table ends", "2:1 this line stands"]),
        ("ACTION(RETRY)\nWAIT(NO)", ["2:1 control data is the first entry"]),
        ("WAIT(NO) ACTION(RETRY)", ["1:1 control data is"]),
        ("RETRYINT(-1)\nACTION(RETRY)", ["1:10 - has to stand in single quotes"]),
        ("FINGERPRINT(XYZ) ACTION(RETRY)", ["1:13 a fingerprint is 12 hexadecimal"]),
        ("PROPERTY(A) ACTION(RETRY)", ["1:10 write the property and its value"]),
        ("FILTER('h.a:''x'' stat:x') ACTION(RETRY)", ["1:19 there is no key stat"]),
        ("X\nY(1)\nACTION(RETRY)", ["1:2 X needs a value", "2:1 there is no keyword"]),
        (") ACTION(RETRY)", ["1:1 ) stands where a keyword should"]),
    ],
)
def test_everything_that_is_wrong_is_told_with_its_place(
    text: str, what: list[str]
) -> None:
    found = faults(text)
    assert len(found) == len(what), found
    for one, begins in zip(found, what, strict=True):
        assert one.startswith(begins)


def test_a_rule_does_not_send_letters_where_it_finds_them() -> None:
    text = "ACTION(IGNORE)\nDESTQ(A) ACTION(FWD) FWDQ(DLQ)"
    assert read(text, queue="OTHER").rules
    assert faults(text, queue="DLQ") == [
        "2:27 a rule cannot forward to DLQ, which is where it finds its letters"
    ]
    assert faults("INPUTQ(OTHER)\nACTION(IGNORE)", queue="DLQ")[0].startswith("1:8 ")
    assert read("INPUTQ(DLQ)\nACTION(IGNORE)", queue="DLQ").control.input_queue == "DLQ"


@pytest.mark.parametrize("text", ["ACTION(IGNORE)\n" * 501, "* " + "x" * 200_000])
def test_a_table_has_an_end(text: str) -> None:
    assert "a table has at most" in faults(text)[0]


CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"])
TEXTS = st.text(CHARACTERS | st.sampled_from(" '+-*?&()"), max_size=20).map(
    lambda text: text.rstrip()
)


def pattern(name: str) -> st.SearchStrategy[str | int]:
    keyword = KEYWORDS[name]
    if keyword.is_number:
        return st.integers(0, LARGEST) | st.sampled_from(sorted(NUMBERS.values()))
    match name:
        case "FINGERPRINT":
            return st.from_regex("[0-9a-f]{1,12}", fullmatch=True)
        case "FILTER":
            return st.sampled_from(["age:>2h", 'h.a:"it\'s (1)"', 'error:"a  -+ b"'])
        case "PROPERTY":
            return TEXTS.map(lambda text: f"a={text}".rstrip()).map(once)
    width = min(keyword.width, 20)
    return TEXTS.map(lambda text: once(text[:width].rstrip()))


def once(text: str) -> str:
    """Stars stand alone: two of them are as one."""
    while "**" in text:
        text = text.replace("**", "*")
    return "a*" if text == "*" else text


PATTERNS = st.fixed_dictionaries(
    {},
    optional={
        name: pattern(name)
        for name, keyword in KEYWORDS.items()
        if keyword.place is KeywordPosition.PATTERN
    },
).map(lambda said: tuple((name, said[name]) for name in KEYWORDS if name in said))
QUEUES = st.text("AZaz09._/% '", min_size=1, max_size=2 * NAME).map(
    lambda text: text.rstrip() or "Q"
)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    action = draw(st.sampled_from(Action))
    forwards = action is Action.FWD
    managers = st.sampled_from(["", "&DESTQM", "&REPLYQM", "QM1", "a b"])
    return Rule(
        action,
        draw(PATTERNS),
        draw(QUEUES | st.sampled_from(["&DESTQ", "&REPLYQ"])) if forwards else "",
        draw(managers) if forwards else "",
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.integers(1, LARGEST)),
    )


CONTROLS = st.builds(
    Control,
    QUEUES | st.just(""),
    st.sampled_from(["", "QM1", "q'm"]),
    st.integers(0, LARGEST),
    st.sampled_from(["YES", "NO", "0", "15"]),
)


@given(st.builds(Table, st.lists(rules(), min_size=1, max_size=4).map(tuple), CONTROLS))
def test_any_table_is_written_so_that_it_is_read_as_the_same(table: Table) -> None:
    text = write(table)

    assert read(text) == table
    assert all(len(line) <= WIDTH for line in text.splitlines() if line.isascii())
    theirs = [line for line in text.split("\n") if line and not line.startswith(OURS)]
    ours_alone = all(rule.is_ours for rule in table.rules)
    assert bool(theirs) or ours_alone


@given(st.text() | st.text("ACTION(RETY)' +-*!\n\r,&?0"))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        table = read(text)
    except InvalidRules as refused:
        places = [(fault.line, fault.column) for fault in refused.faults]
    else:
        places = [(rule.line, 1) for rule in table.rules]
        assert read(write(table)) == table
    assert places
    assert all(1 <= line <= text.count("\n") + 1 for line, _ in places)
    assert all(column >= 1 for _, column in places)
