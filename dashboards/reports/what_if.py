"""Two redelivery policies compared, by simulation on recorded failures.

Reads    deliveries, lifelines, open   of silver
Writes   what if    one row for each queue and policy

The report counts messages whose first failure was in the selected days and that are not
resubmitted copies; deliveries of copies count for the original message
(``policy_replay``). Dead letters that no policy could have prevented stay dead letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dashboards.reports import Chart, Column, Inputs, Rows, Values, report
from dashboards.reports.declaration import gettext_noop
from dashboards.reports.policies.policy_parameters import PARAMETERS, policies_of
from dashboards.reports.policies.policy_replay import (
    Policy,
    SimulatedOutcome,
    bounds,
    stories_in,
)
from dashboards.reports.quality import require_equal

if TYPE_CHECKING:
    from pyarrow import Array
    from pyspark.sql import DataFrame

# A row is the outcome of one message under one policy: with ``least``, if all unknown
# attempts fail; with ``most``, if all succeed; with both, if these are the same.
OUTCOMES = """array<struct<policy string, least boolean, most boolean, end string,
    attempts bigint, later_us bigint, failing_us bigint>>"""

# A resubmitted copy is traced to its dead letter, and the dead letter to the message
# that was dead-lettered. ``TRIES`` does so up to four times, to find the first message.
LINKS = """
    WITH copies AS (
        SELECT message_id, parent_message_id, parent_end FROM {lifelines}
        UNION ALL
        SELECT message_id, parent_message_id, parent_end FROM {open}
        WHERE day = (SELECT max(day) FROM {open})
    )
    SELECT child.message_id, max(letter.parent_message_id) AS origin_id
    FROM copies AS child JOIN copies AS letter
      ON child.parent_message_id = letter.message_id
    WHERE child.parent_end = 'resubmitted'
      AND letter.parent_end IN ('dead-lettered', 'discarded', 'expired')
    GROUP BY child.message_id
"""
TRIES = """
    WITH origin AS (
        SELECT a.message_id,
            coalesce(d.origin_id, c.origin_id, b.origin_id, a.origin_id) AS origin_id
        FROM {link} AS a
        LEFT JOIN {link} AS b ON b.message_id = a.origin_id
        LEFT JOIN {link} AS c ON c.message_id = b.origin_id
        LEFT JOIN {link} AS d ON d.message_id = c.origin_id
    ),
    every AS (
        SELECT /*+ REPARTITION(origin_id, queue_id) */
            coalesce(origin.origin_id, d.message_id) AS origin_id, d.queue_id,
            d.queue, d.message_id, d.stay, d.attempt,
            unix_micros(coalesce(d.got_at, d.ended_at)) AS got_at,
            unix_micros(d.ended_at) AS ended_at, unix_micros(d.next_due_at) AS due_at,
            d.outcome, d.failed, d.cause, d.fingerprint
        FROM {deliveries} AS d LEFT JOIN origin USING (message_id)
        WHERE d.failed OR d.outcome = 'accepted'
    )
    SELECT * FROM (
        SELECT *, bool_or(failed) OVER (PARTITION BY origin_id, queue_id) AS has_failed
        FROM (
            SELECT *, lead(got_at) OVER (PARTITION BY origin_id, queue_id, message_id,
                stay ORDER BY attempt) AS next_at
            FROM every
        )
    )
    WHERE has_failed
"""
STORIES = """
    WITH usual_took AS (
        SELECT queue_id, fingerprint, median(greatest(ended_at - got_at, 0)) AS took
        FROM {tries} WHERE failed GROUP BY ALL
    ),
    usual_lag AS (
        SELECT queue_id, median(next_at - coalesce(due_at, ended_at)) AS lag
        FROM {tries} WHERE failed AND next_at >= coalesce(due_at, ended_at)
        GROUP BY queue_id
    ),
    told AS (
        SELECT queue_id, max(queue) AS queue,
            max_by(fingerprint, got_at) FILTER (WHERE failed) AS fingerprint,
            min(struct(got_at, message_id, stay)) FILTER (WHERE failed) AS first,
            array_sort(collect_list(struct(got_at, message_id, stay, attempt, ended_at,
                outcome, failed, cause, due_at))) AS tries
        FROM {tries} GROUP BY origin_id, queue_id
    ),
    stays AS (
        SELECT message_id, queue_id, stay, ended_at, failed FROM {lifelines}
        WHERE failed > 0
        UNION ALL
        SELECT message_id, queue_id, stay, NULL, failed FROM (
            SELECT * FROM {open} WHERE day = (SELECT max(day) FROM {open})
                AND failed > 0
        ) LEFT ANTI JOIN {lifelines} AS over USING (message_id, queue_id, stay)
    )
    SELECT queue, tries, unix_micros(stays.ended_at) AS stay_ended_at,
        CAST(coalesce(usual_took.took, 0) AS bigint) AS usual_took,
        CAST(coalesce(usual_lag.lag, 0) AS bigint) AS usual_lag
    FROM told
    JOIN stays ON first.message_id = stays.message_id AND first.stay = stays.stay
      AND told.queue_id = stays.queue_id
      AND stays.failed = size(filter(tries, one -> one.failed
        AND one.message_id = first.message_id AND one.stay = first.stay))
    LEFT JOIN usual_took ON told.queue_id = usual_took.queue_id
      AND told.fingerprint <=> usual_took.fingerprint
    LEFT JOIN usual_lag ON told.queue_id = usual_lag.queue_id
"""

# The sums of outcomes by queue and policy, from rows of ``OUTCOMES`` with their queue.
SUMMED = """
    SELECT queue, policy, messages, rescued_least, rescued_most,
        rescued_least / messages AS certain, rescued_most / messages AS possible,
        died_least, died_most, left,
        later[0] / 1e6 AS p50, later[1] / 1e6 AS p90, later[2] / 1e6 AS p99,
        extra_least, extra_most, failing_least, failing_most
    FROM (
        SELECT queue, policy, count_if(least) AS messages,
            count_if(least AND end = 'rescued') AS rescued_least,
            count_if(most AND end = 'rescued') AS rescued_most,
            count_if(most AND end = 'died') AS died_least,
            count_if(least AND end = 'died') AS died_most,
            count_if(least AND end = 'left') AS left,
            percentile(later_us, array(0.5, 0.9, 0.99))
                FILTER (WHERE least AND end = 'rescued') AS later,
            sum(attempts - 1) FILTER (WHERE most) AS extra_least,
            sum(attempts - 1) FILTER (WHERE least) AS extra_most,
            sum(failing_us) FILTER (WHERE most) / 1e6 AS failing_least,
            sum(failing_us) FILTER (WHERE least) / 1e6 AS failing_most
        FROM {outcomes} GROUP BY queue, policy
    )
    ORDER BY queue, policy
"""


def stories(inputs: Inputs, queue: str) -> DataFrame:
    """One row for each message that failed: its tries, and those of its copies.

    Messages that had already failed before the archive began are left out, because not
    all of their failures are recorded. The tries are computed once and kept while they
    are used: the usual times come from all of them.
    """
    deliveries = inputs["deliveries"]
    session = deliveries.sparkSession
    stays: dict[str, Any] = {one: inputs[one] for one in ("lifelines", "open")}
    tries = session.sql(
        TRIES,
        deliveries=deliveries.where(deliveries["queue"].like(like(queue))),
        link=session.sql(LINKS, **stays).localCheckpoint(),
    ).localCheckpoint()
    return session.sql(STORIES, tries=tries, **stays)


def like(pattern: str) -> str:
    """A LIKE pattern for a name in which ``*`` stands for any characters."""
    for sign in ("\\", "%", "_"):
        pattern = pattern.replace(sign, f"\\{sign}")
    return pattern.replace("*", "%")


def simulate_outcomes(stories: Array, policies: Mapping[str, Policy | None]) -> Array:
    """The simulated outcomes of each story, as rows of ``OUTCOMES``.

    Args:
        stories: rows of ``stories``.
        policies: by name; None is what was recorded.
    """
    import pyarrow as pa  # noqa: PLC0415  only executors call this

    found: list[tuple[Any, ...]] = []
    ends = [0]
    for story in stories_in(pa.RecordBatch.from_struct_array(stories)):
        for name, policy in policies.items():
            least, most = bounds(story, policy)
            same = least == most
            found.append((name, True, same, *least))
            if not same:
                found.append((name, False, True, *most))
        ends.append(len(found))
    names = ["policy", "least", "most", *SimulatedOutcome._fields]
    kinds = [pa.string(), *[pa.bool_()] * 2, pa.string(), *[pa.int64()] * 3]
    columns = zip(*found, strict=True) if found else [()] * len(names)
    rows = pa.StructArray.from_arrays(
        [pa.array(one, kind) for one, kind in zip(columns, kinds, strict=True)], names
    )
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), rows)


def check(_: Inputs, rows: Rows) -> None:
    """Compare the numbers of the policies with each other, and within each row."""
    messages = {
        name: sum(row["messages"] for row in rows if row["policy"].startswith(name))
        for name in "AB"
    }
    require_equal(
        gettext_noop("both policies are tried on the same messages"),
        messages["B"],
        messages["A"],
    )
    for row in rows:
        ends = row["rescued_least"] + row["died_most"] + row["left"]
        require_equal(
            gettext_noop("each message has one outcome"), ends, row["messages"]
        )
        wrong = row["rescued_least"] > row["rescued_most"]
        require_equal(
            gettext_noop("no lower bound is above its upper bound"), int(wrong), 0
        )


@report(
    "what-if",
    title=gettext_noop("Redelivery policies side by side"),
    question=gettext_noop(
        "Which of the messages that failed would another redelivery policy save?"
    ),
    inputs=("deliveries", "lifelines", "open"),
    columns=(
        Column("queue", gettext_noop("Queue"), "queue"),
        Column("policy", gettext_noop("Policy"), "text"),
        Column(
            "messages", gettext_noop("Failed once at least"), "count", adds_up=False
        ),
        Column(
            "rescued_least", gettext_noop("Accepted, at least"), "count", adds_up=False
        ),
        Column(
            "rescued_most",
            gettext_noop("Accepted, at most"),
            "count",
            note=gettext_noop(
                "With those whose result is unknown: they were tried between the last"
                " failure and the first success that were seen."
            ),
            adds_up=False,
        ),
        Column("certain", gettext_noop("Share accepted, at least"), "share"),
        Column("possible", gettext_noop("Share accepted, at most"), "share"),
        Column(
            "died_least",
            gettext_noop("Dead-lettered, at least"),
            "count",
            adds_up=False,
        ),
        Column(
            "died_most", gettext_noop("Dead-lettered, at most"), "count", adds_up=False
        ),
        Column(
            "left",
            gettext_noop("Neither"),
            "count",
            note=gettext_noop(
                "Ended in another way, or was still being redelivered at the end of"
                " the journal."
            ),
            adds_up=False,
        ),
        Column(
            "p50",
            gettext_noop("Later by (median)"),
            "seconds",
            note=gettext_noop(
                "Of those accepted for"
                " certain, from the first get to the one that went well."
            ),
        ),
        Column("p90", gettext_noop("90th percentile"), "seconds"),
        Column("p99", gettext_noop("99th percentile"), "seconds"),
        Column(
            "extra_least",
            gettext_noop("Extra attempts at least"),
            "count",
            adds_up=False,
        ),
        Column(
            "extra_most", gettext_noop("Extra attempts at most"), "count", adds_up=False
        ),
        Column(
            "failing_least",
            gettext_noop("Time in failed deliveries at least"),
            "seconds",
        ),
        Column(
            "failing_most", gettext_noop("Time in failed deliveries at most"), "seconds"
        ),
    ),
    charts=(
        Chart(
            gettext_noop("Accepted, at least"),
            "beside",
            "queue",
            "rescued_least",
            "policy",
        ),
        Chart(
            gettext_noop("Accepted, at most"),
            "beside",
            "queue",
            "rescued_most",
            "policy",
        ),
    ),
    parameters=PARAMETERS,
    check=check,
    nightly=False,
)
def build(inputs: Inputs, values: Values) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: PLC0415  not for pages
    from pyspark.sql.pandas.functions import arrow_udf  # noqa: PLC0415

    policies = policies_of(values)
    told = stories(inputs, values["queue"])
    session = told.sparkSession
    # A lambda, because it has no type hints: Spark would evaluate them.
    outcomes_of = arrow_udf(lambda rows: simulate_outcomes(rows, policies), OUTCOMES)  # type: ignore[call-overload]
    found = told.select("queue", outcomes_of(F.struct(*told.columns)).alias("rows"))
    # With ``inline`` Spark calls the function twice: it first looks for empty arrays.
    found = session.sql("SELECT queue, inline_outer(rows) FROM {found}", found=found)
    return session.sql(SUMMED, outcomes=found)
