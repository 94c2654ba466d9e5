"""MQSC is read as runmqsc reads it; each keyword is taken over, a default, or named."""

from __future__ import annotations

from typing import Any

import pytest

from broker.declarations import apply, plan
from broker.declarations import read as read_document
from broker.declarations.converters import in_toml, read
from broker.models import Queue
from tests.broker.declarations.scripts import made, named


def test_delete_makes_nothing() -> None:
    script = """DELETE QLOCAL(X)
DELETE QLOCAL(Y) PURGE
DELETE QALIAS(Z) AUTHREC(YES)
DEFINE QLOCAL(W)
DELETE QLOCAL(W)
DELETE QMODEL(M)
DELETE TOPIC(T)
DELETE CHANNEL(C)"""

    assert made(script) == {
        "queue X": "absent",
        "queue Y": "purged",
        "alias Z": "absent",
        "queue W": "absent",
        "model M": "absent",
    }
    assert "line 7, DELETE TOPIC(T): delete the address of its string" in named(script)


def test_the_destination_of_a_subscription_is_there_though_it_was_deleted() -> None:
    script = "DELETE QLOCAL(X)\nDEFINE SUB(S) TOPICSTR('news') DEST(X)"

    assert made(script) == {"queue X": {"address": "news", "routing_type": "multicast"}}
    assert "line 1, DELETE QLOCAL(X): it is defined again" in named(script)


def test_what_is_defined_again_after_its_delete_is_there() -> None:
    script = "DELETE QLOCAL(X)\nDEFINE QLOCAL(X) MAXDEPTH(7)"

    assert made(script) == {"queue X": {"max_depth": 7}}
    assert "line 1, DELETE QLOCAL(X): it is defined again" in named(script)


@pytest.mark.django_db
def test_a_deleted_queue_is_deleted_here() -> None:
    apply(plan(read_document("[queues.X]\n[queues.Y]\n")[0]))
    text = in_toml(read("mqsc", b"DELETE QLOCAL(X) PURGE"), "mqsc", source="file")

    apply(plan(read_document(text)[0]))

    assert list(Queue.objects.filter(name__in="XY").values_list("name")) == [("Y",)]


@pytest.mark.parametrize(
    ("script", "comment"),
    [
        (
            "ALTER QLOCAL(FAR) MAXDEPTH(7) BOQNAME('a b') PUT(DISABLED) TRIGGER",
            "line 1, ALTER QLOCAL(FAR): this file does not define it, so it is not"
            " made. If it is here: `backout queue alter FAR --max-depth 7"
            " --backout-queue 'a b' --put-inhibited --yes`.",
        ),
        (
            "ALTER QALIAS(FAR) TARGET(X)",
            "`backout alias alter FAR --target X --yes`.",
        ),
        ("ALTER QMODEL(FAR) BOTHRESH(3)", "`backout model alter FAR --backout-thresh"),
        ("ALTER TOPIC(FAR) PUB(DISABLED)", "If it is here: alter it by hand"),
        (
            "ALTER QLOCAL(SYSTEM.ADMIN.COMMAND.QUEUE) MAXDEPTH(7)",
            "objects that begin with SYSTEM. belong to the queue manager itself",
        ),
    ],
)
def test_alter_of_what_the_script_does_not_define_makes_nothing(
    script: str, comment: str
) -> None:
    assert made(script) == {}
    assert comment in named(script)


def test_like_of_what_the_script_does_not_define_makes_only_its_own() -> None:
    script = "DEFINE QLOCAL(A) LIKE(FAR) MAXDEPTH(7)"

    assert made(script) == {"queue A": {"max_depth": 7}}
    assert "line 1, QLOCAL(A) LIKE(FAR): FAR is not defined in this file" in named(
        script
    )


def test_an_alias_of_a_topic_refers_to_its_string() -> None:
    script = """DEFINE QALIAS(NEWS.Q) TARGTYPE(TOPIC) TARGET(NEWS) DESCR('a')
DEFINE TOPIC(NEWS) TOPICSTR('news/today')
DEFINE QALIAS(FAR.Q) TARGTYPE(TOPIC) TARGET(FAR)
DEFINE QREMOTE(R) RNAME(X) RQMNAME(QM2)
DEFINE QALIAS(R.Q) TARGET(R)
DEFINE QALIAS(NOTHING)"""

    assert made(script) == {
        "alias NEWS.Q": {"target": "news/today"},
        "address news/today": {},
    }
    text = named(script)
    assert "line 3, DEFINE QALIAS(FAR.Q); line 3, QALIAS(FAR.Q) TARGET(FAR)" in text
    assert "the topic FAR is not defined in this file" in text
    assert "it has no TARGET" in text
    assert "QALIAS(NEWS.Q) DESCR('a'): such an object has no description here." in text


def test_subscriptions_are_queues_of_an_address() -> None:
    script = """DEFINE TOPIC(NEWS) TOPICSTR('news')
DEFINE QLOCAL(MAIL) CAPEXPRY(50)
DEFINE QALIAS(MAIL.Q) TARGET(MAIL)
DEFINE SUB(ONE) TOPICOBJ(NEWS) TOPICSTR('today') DEST(MAIL.Q) SELECTOR('a = 1')
DEFINE SUB(TWO) TOPICOBJ(NEWS) DEST(MAIL)
DEFINE SUB(WILD) TOPICSTR('news/#') DEST(WILD)
DEFINE SUB(MANAGED) TOPICSTR('news') DESTCLAS(MANAGED)
DEFINE SUB(FAR) TOPICOBJ(FAR) DEST(FAR)
DEFINE SUB(ODD) TOPICSTR('odd') DEST(ODD) SELECTOR('a ==') USERDATA('x')"""

    assert made(script) == {
        "address news": {},
        "queue MAIL": {
            "address": "news/today",
            "routing_type": "multicast",
            "selector": "a = 1",
        },
        "alias MAIL.Q": {"target": "MAIL"},
        "queue ODD": {"address": "odd", "routing_type": "multicast"},
    }
    text = named(script)
    for sentence in (
        "QLOCAL(MAIL) CAPEXPRY(50): set it on the address",
        "DEST(MAIL.Q): a queue has one address, and MAIL has news/today",
        "another subscription feeds MAIL already",
        "it has many topics",
        "its queue has no name there",
        "the topic FAR is not defined in this file",
        "SELECTOR('a =='): the queue has no selector.",
        "USERDATA('x'): a message comes to the queue as it was put",
    ):
        assert sentence in text


def test_a_second_definition_of_a_name_counts_only_with_replace() -> None:
    script = """DEFINE QLOCAL(A) MAXDEPTH(1) BOTHRESH(3)
DEFINE QLOCAL(A) MAXDEPTH(2)
DEFINE QALIAS(A) TARGET(B) REPLACE
ALTER QALIAS(A) TARGET(B)
DEFINE QLOCAL(B) MAXDEPTH(1) BOTHRESH(3)
DEFINE QLOCAL(B) MAXDEPTH(2) REPLACE
ALTER QLOCAL(A) MAXDEPTH(4)"""

    assert made(script) == {
        "queue A": {"max_depth": 4, "backout_threshold": 3},
        "queue B": {"max_depth": 2},
    }
    text = named(script)
    assert (
        "line 2, DEFINE QLOCAL(A); line 3, DEFINE QALIAS(A): there is a QLOCAL" in text
    )
    assert "line 4, ALTER QALIAS(A): there is no QALIAS of this name" in text
    assert "line 5, DEFINE QLOCAL(B): a later DEFINE with REPLACE" in text
    assert (
        "line 1, QLOCAL(A) MAXDEPTH(1); line 5, QLOCAL(B) MAXDEPTH(1); line 5,"
        " QLOCAL(B) BOTHRESH(3): nothing here has this value" in text
    )


@pytest.mark.parametrize(
    ("script", "name", "values"),
    [
        ("define qlocal (a) , maxdepth ( 7 )", "A", {"max_depth": 7}),
        ("Def Ql('a') MaxDepth(7)", "a", {"max_depth": 7}),
        ("DEFINE QL(A) +\n* MAXDEPTH(8) +\n\n   MAXDEPTH(7)", "A", {"max_depth": 7}),
        ("DEFINE QL(A) DESCR('Fr+\n   ed')", "A", {"description": "Fred"}),
        ("DEFINE QL(A) DESCR('Fr-\ned')", "A", {"description": "Fred"}),
        ("DEFINE QL(A) DESCR('Fr-\n ed')", "A", {"description": "Fr ed"}),
        ("DEFINE QL(A) DESCR('it''s; (a)')", "A", {"description": "it's; (a)"}),
        ("DEFINE QL(A) MAXDEPTH(7);", "A", {"max_depth": 7}),
        ("DEFINE QL('a/b%c_d.E')", "a/b%c_d.E", {}),
        ("\ufeffDEFINE QL(A)\r\n", "A", {}),
    ],
)
def test_how_lines_and_names_are_read(
    script: str, name: str, values: dict[str, Any]
) -> None:
    assert made(script) == {f"queue {name}": values}


def test_what_cannot_be_read_loses_itself_only() -> None:
    script = """DEFINE QLOCAL(A) MAXDEPTH(many) BOTHRESH(3) FUNNY(1)
DEFINE QLOCAL('B
DEFINE QLOCAL(C) MAXDEPTH(1) MAXDEPTH(2)
DEL QLOCAL(D)
DEFINE QLOCAL
echo hello
DEFINE QLOCAL(E)
END
DEFINE QLOCAL(F)
* a comment
"""

    assert made(script) == {"queue A": {"backout_threshold": 3}, "queue E": {}}
    text = named(script)
    assert "MAXDEPTH(many): it is no whole number from 0 to 999,999,999." in text
    told = "there is nothing like it here, and nothing was made of it. If it matters,"
    assert f"QLOCAL(A) FUNNY(1): {told} set by hand what comes nearest to it." in text
    assert (
        "line 2, “DEFINE QLOCAL('B”; line 3, “DEFINE QLOCAL(C) MAXDEPTH(1)"
        " MAXDEPTH(2)”; line 4, “DEL QLOCAL(D)”; line 6, “echo hello”: this is no MQSC"
    ) in text
    assert "line 9, “DEFINE QLOCAL(F)”: it stands after END" in text
    assert "line 5, DEFINE QLOCAL: it needs a name" in text
