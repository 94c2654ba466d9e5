"""Rules for dead letters, compared with what people did.

Reads    lifelines, open    of silver
Writes   rule backtest      one row for each rule, and one for letters without a rule

The report counts dead letters that died in the selected days and came to the queue in
them. A rule is evaluated by the origin queue, the name of the broker, the fingerprint
of the error, and the reason, which is 0 except by IBM MQ's rules. If a rule needs other
fields, neither that rule nor the later ones are evaluated for the letter. The preview
on the page Rules fully evaluates the letters that are on the queue now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports import Chart, Column, Inputs, Parameter, Rows, Values, report
from dashboards.reports.declaration import gettext_noop
from dashboards.reports.quality import require_equal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GROUPS = """
    WITH now AS (
        SELECT * FROM {open} WHERE day = (SELECT max(day) FROM {open})
    ),
    stays AS (
        SELECT message_id, queue_id, queue, stay, ended, became, cause, fingerprint,
            parent_message_id, parent_queue_id, parent_end
        FROM {lifelines}
        UNION ALL
        SELECT message_id, queue_id, queue, stay, NULL, NULL, NULL, NULL,
            parent_message_id, parent_queue_id, parent_end
        FROM now LEFT ANTI JOIN {lifelines} AS over USING (message_id, queue_id, stay)
    ),
    letter AS (
        SELECT message_id, max(parent_message_id) AS parent_id,
            max(parent_queue_id) AS parent_queue_id,
            max_by(coalesce(ended, 'left'), stay) AS ended
        FROM stays
        WHERE queue_id IN (SELECT queue_id FROM {named})
        GROUP BY message_id, queue_id
        HAVING max(parent_end) IN ('dead-lettered', 'discarded', 'expired')
    ),
    child AS (
        SELECT parent_message_id AS letter_id, max_by(coalesce(ended, 'open'), stay)
            AS ended
        FROM stays WHERE parent_end = 'resubmitted' GROUP BY ALL
    )
    SELECT died.queue AS origin, died.cause, died.fingerprint,
        CASE
            WHEN letter.ended = 'resubmitted' THEN CASE
                WHEN child.ended = 'accepted' THEN 'succeeded'
                WHEN child.ended IN ('dead-lettered', 'discarded', 'expired')
                    THEN 'dead-lettered again'
                ELSE 'resubmitted' END
            WHEN letter.ended IN ('moved', 'left') THEN letter.ended
            WHEN letter.ended IN ('removed', 'discarded', 'expired') THEN 'removed'
            ELSE 'otherwise' END AS done,
        count(*) AS letters
    FROM letter
    JOIN stays AS died ON died.message_id = letter.parent_id
      AND died.queue_id = letter.parent_queue_id AND died.became = letter.message_id
    LEFT JOIN child ON child.letter_id = letter.message_id
    GROUP BY ALL
"""


def groups(inputs: Inputs, queue: str) -> DataFrame:
    """Letters that came to a queue, grouped by the fields that rules are evaluated by
    and by their outcome; there are as many rows as errors, not letters."""
    lifelines, now = inputs["lifelines"], inputs["open"]
    names = [frame.select("queue_id", "queue") for frame in (lifelines, now)]
    both = names[0].union(names[1])
    return lifelines.sparkSession.sql(
        GROUPS,
        lifelines=lifelines,
        open=now,
        named=both.where(both["queue"] == queue),
    )


def check(_: Inputs, rows: Rows) -> None:
    """Check the outcomes against the number of matched letters."""
    ends = (
        "succeeded", "died_again", "underway", "moved", "removed", "still_there",
        "otherwise",
    )  # fmt: skip
    for row in rows:
        done = sum(row[name] for name in ends)
        require_equal(
            gettext_noop("each dead letter has one outcome"), done, row["matched"]
        )


@report(
    "rule-backtest",
    title=gettext_noop("Rules for dead letters, compared with what people did"),
    question=gettext_noop(
        "What would a queue's rules have done with past dead letters?"
    ),
    inputs=("lifelines", "open"),
    columns=(
        Column("number", gettext_noop("Rule"), "count", adds_up=False),
        Column("rule", gettext_noop("As it is written"), "text"),
        Column("action", gettext_noop("Does"), "text"),
        Column(
            "matched",
            gettext_noop("Letters"),
            "count",
            note=gettext_noop(
                "Dead letters for which this is the first rule that matches."
            ),
        ),
        Column(
            "unjudged",
            gettext_noop("Not evaluated"),
            "count",
            note=gettext_noop(
                "The rule needs fields that the archive does not keep: all but the"
                " queue, the broker's name, the fingerprint, and a reason of 0."
            ),
        ),
        Column("succeeded", gettext_noop("Resubmitted, went well"), "count"),
        Column("died_again", gettext_noop("Resubmitted, dead-lettered again"), "count"),
        Column("underway", gettext_noop("Resubmitted, not ended"), "count"),
        Column("moved", gettext_noop("Moved"), "count"),
        Column("removed", gettext_noop("Removed or expired"), "count"),
        Column("still_there", gettext_noop("Still there"), "count"),
        Column("otherwise", gettext_noop("Anything else"), "count"),
        Column("agreed", gettext_noop("Rule and operators agree"), "count"),
        Column("differed", gettext_noop("They differ"), "count"),
        Column(
            "prevented",
            gettext_noop("Successes lost"),
            "count",
            note=gettext_noop(
                "The rule would remove messages that operators resubmitted"
                " successfully."
            ),
        ),
        Column(
            "brought_most",
            gettext_noop("Successes gained, at most"),
            "count",
            note=gettext_noop(
                "The rule would resubmit messages that nobody resubmitted; the"
                " result is not known."
            ),
        ),
    ),
    charts=(
        Chart(
            gettext_noop("Rule and operators agree, by rule"), "bars", "rule", "agreed"
        ),
        Chart(
            gettext_noop("Rule and operators differ, by rule"),
            "bars",
            "rule",
            "differed",
        ),
    ),
    parameters=(
        Parameter(
            "queue",
            "text",
            "DLQ",
            gettext_noop("Queue"),
            note=gettext_noop("The queue of the dead letters."),
        ),
        Parameter("days", "count", 30, gettext_noop("Days back"), least=1, most=400),
        Parameter(
            "rules",
            "text",
            "",
            gettext_noop("Rules"),
            note=gettext_noop(
                "Rules as runmqdlq reads them; empty: the rules of the queue."
            ),
            lines=6,
        ),
    ),
    check=check,
    nightly=False,
)
def build(inputs: Inputs, values: Values) -> DataFrame:
    from dashboards.reports import rule_evaluation  # noqa: PLC0415  needs Django

    found = groups(inputs, values["queue"])
    table = rule_evaluation.table_of(values["queue"], values["rules"])
    told = (
        rule_evaluation.LetterGroup(**row.asDict()) for row in found.toLocalIterator()
    )
    rows = list(rule_evaluation.judged(table, told))
    names = list(rows[0])
    types = {"rule": "string", "action": "string"}
    ddl = ", ".join(f"{name} {types.get(name, 'bigint')}" for name in names)
    session = inputs["open"].sparkSession
    return session.createDataFrame([tuple(row.values()) for row in rows], ddl)
