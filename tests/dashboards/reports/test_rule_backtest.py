"""Rules judge letters that are gone as the broker would have, as far as is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker.models import DeadLetter, Operation, Queue
from broker.operations import Chosen, rules
from broker.operations.rules import Table
from broker.operations.rules.dead_letter_facts import letters_on
from broker.operations.rules.matching import matches
from dashboards.reports import discover, rule_evaluation
from dashboards.reports.errors import ReportError
from dashboards.reports.rule_evaluation import LetterGroup
from tests.broker.dying import back_out, make_dead_letters
from tests.dashboards.failing import consume
from tests.dashboards.histories import at, last_xid, order
from tests.dashboards.journal import until_final
from tests.dashboards.silver_tables import refreshed
from tests.make import NOON, make_queue, make_user

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLOW, BROKEN = "the other side did not answer", "no such customer 17"


def make_letters() -> dict[str, list[int]]:
    """Letters of two queues and two errors."""
    make_queue("review")
    return {
        "slow": make_dead_letters(4, error=SLOW),
        "broken": make_dead_letters(3, error=BROKEN),
        "payments": make_dead_letters(2, address="orders", queue="orders", error=SLOW),
    }


def table() -> Table:
    """The first rules can be judged, the third by what the archive does not keep."""
    broken = DeadLetter.objects.filter(error=BROKEN)[0].fingerprint
    return rules.read(
        f"""
        FINGERPRINT('{broken}') REASON(MQRC_NONE) ACTION(DISCARD)
        DESTQ('nowhere*') ACTION(FWD) FWDQ('review')
        DESTQ('ord*') FORMAT('MQSTR') ACTION(FWD) FWDQ('review')
        DESTQ('ord*') ACTION(RETRY) RETRY(3)
        """,
        queue="DLQ",
    )


@pytest.mark.django_db
def test_what_is_judged_is_as_the_broker_has_it() -> None:
    make_letters()
    dead = {one.message_id: one for one in DeadLetter.objects.all()}
    letters = letters_on(Queue.objects.get(name="DLQ").pk, after=0, limit=100)
    told = []
    for letter in letters.letters:
        one = dead[letter.message_id]
        known = LetterGroup(
            one.origin_queue, one.cause, one.fingerprint, "left", 1
        ).letter
        for rule in table().rules:
            verdict = rule_evaluation.verdict(rule, known)
            told.append(verdict)
            assert verdict in (None, matches(rule, letter))
    assert set(told) == {True, False, None}
    assert len(letters) == 9


@pytest.mark.django_db
def test_of_what_ibm_s_rules_moved_the_reason_is_not_known() -> None:
    make_letters()
    first, *_ = table().rules
    print_of = DeadLetter.objects.filter(error=BROKEN)[0].fingerprint
    moved = LetterGroup("orders", DeadLetter.Cause.MALFORMED, print_of, "left", 1)
    assert rule_evaluation.verdict(first, moved.letter) is None


def test_letters_whose_match_is_not_certain_are_no_matches() -> None:
    sure = LetterGroup("orders", "REJECTED", "f1", "left", 3)
    unsure = LetterGroup("orders", None, "f1", "left", 5)
    found = rule_evaluation.counted(None, [(sure, True), (unsure, False)])
    assert (found["matched"], found["unjudged"]) == (3, 5)


@pytest.mark.django_db
def test_rules_that_are_not_there_or_cannot_be_read_stop_the_run() -> None:
    make_queue("DLQ")
    with pytest.raises(ReportError, match="DLQ"):
        rule_evaluation.table_of("DLQ", "")
    with pytest.raises(ReportError):
        rule_evaluation.table_of("DLQ", "ACTION(RETYR)")


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.usefixtures("spark", "committed")
def test_each_letter_is_held_against_what_people_did(spark: SparkSession) -> None:
    from dashboards.pipeline import gold  # noqa: PLC0415  loads Spark

    letters = make_letters()
    ada, kept = make_user("ada"), rules.write(table())
    rules.save("DLQ", kept.split("\n", 3)[0] + "\n" + RETRY, ada, now=NOON)
    slow, broken = letters["slow"], letters["broken"]
    resubmit([*slow[:2], broken[0]], minute=10)
    consume("orders", {}, since=at(11))
    resubmit([slow[2]], minute=20)
    assert back_out(at=21)  # and so there is a tenth letter
    order(Operation.Kind.REMOVE, chosen=chosen(broken[1:2]), now=at(30))
    order(Operation.Kind.MOVE, "review", chosen=chosen(slow[3:]), now=at(31))
    until_final(last_xid())
    refreshed(spark)

    def rows(**said: Any) -> list[list[Any]]:
        report = discover()["rule-backtest"]
        found = gold.answer(spark, report, said, NOON).to_pylist()
        return [list(row.values())[2:] for row in found]

    # matched, not judged; succeeded, died again, under way, moved, removed, still
    # there, otherwise; agreed, differed, prevented, brought
    assert rows() == [
        ["DISCARD", 4, 0, 1, 0, 0, 0, 1, 2, 0, 1, 3, 1, 0],
        ["RETRY", 6, 0, 2, 1, 0, 1, 0, 2, 0, 3, 3, 0, 3],
        ["none", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ]
    assert [row[1:3] for row in rows(rules=kept)] == [
        [4, 0], [0, 0], [0, 6], [0, 0], [0, 0],
    ]  # fmt: skip


RETRY = "DESTQ('orders') ACTION(RETRY)\n"


def chosen(ids: list[int]) -> Chosen:
    return Chosen(queue="DLQ", ids=tuple(ids))


def resubmit(ids: list[int], *, minute: int) -> None:
    order(Operation.Kind.RESUBMIT, chosen=chosen(ids), now=at(minute))
