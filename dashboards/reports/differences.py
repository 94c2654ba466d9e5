"""Fields that distinguish dead letters from accepted messages.

Reads    lifelines     of silver, for the last days
         messages      fields of messages put in these days, or in the week before
Writes   differences   at most five rows for each cluster of errors and queue

field_significance.py has the statistical test and the questions that it answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from broker.errors.messages import InvalidFilter
from broker.formats.filters import KEYS, PROPERTY, KeyKind, Term, equal, parse
from broker.formats.filters.values import Alternative, Between, Is, Text, Value
from dashboards.reports import Column, Inputs, Parameter, Rows, Values, report
from dashboards.reports.declaration import DAYS, gettext_noop
from dashboards.reports.error_clusters import bare, letters
from dashboards.reports.field_significance import (
    BETWEEN,
    CUT,
    HAS,
    HAS_NOT,
    LEAST,
    OF_PROPERTY,
    OUTCOMES,
    TOTALS,
    WELL,
    A,
    B,
    F,
    S,
    significant_fields,
)
from dashboards.reports.quality import require_equal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SHOWN = 5  # rows shown of each cluster
MOST_SURE = 1e12  # odds against chance, to 1; larger odds are shown as this
BIG = f"""
    SELECT cluster, queue,
        {bare("max_by(error, struct(ended_at, message_id))")} AS label,
        count(*) AS dead_letters
    FROM {{letter}} GROUP BY cluster, queue HAVING count(*) >= :least
"""  # noqa: S608  # constants


def alike(cells: Mapping[str, Any]) -> str:
    """The filter for the dead letters that a row describes; empty if there is none."""
    field, how, value = cells["field"], cells["how"], cells["value"]
    name = field.removeprefix(OF_PROPERTY) if field.startswith(OF_PROPERTY) else ""
    key = PROPERTY if name else KEYS.get(field)
    if key is None:
        return ""  # filters have no key for this field
    asked = Term(key, (alternative_of(key.kind, how, value),), name, how == HAS_NOT)
    try:
        return str(parse(f"{equal('origin', cells['queue'])} {asked}"))
    except InvalidFilter:  # a number with too many digits, a text that is too long
        return ""


def alternative_of(kind: KeyKind, how: str, value: str) -> Alternative:
    """The value that a key is compared with; a text that was cut becomes a prefix."""
    if how in (HAS, HAS_NOT):
        return Is(Text(("", "")))
    if how == BETWEEN:
        low, _, high = value.partition("..")
        return Between(figure_of(kind, low), figure_of(kind, high))
    if kind == KeyKind.NUMBER:
        return Is(int(value))
    return Is(Text((value[:-1], "") if value.endswith(CUT) else (value,)))


def figure_of(kind: KeyKind, text: str) -> Value:
    return Decimal(text) if kind == KeyKind.PROPERTY else int(Decimal(text))


def tells(cells: Mapping[str, Any]) -> Mapping[str, Any]:
    """The property that a row discloses, by its name."""
    field = cells["field"] or ""
    is_property = field.startswith(OF_PROPERTY)
    return {field.removeprefix(OF_PROPERTY): cells["value"]} if is_property else {}


COLUMNS = (
    Column(
        "cluster",
        gettext_noop("Similar errors"),
        "fingerprint",
        note=gettext_noop("As in Causes of dead letters."),
    ),
    Column(
        "queue",
        gettext_noop("Queue"),
        "queue",
        note=gettext_noop("The queue they come from."),
    ),
    Column(
        "label",
        gettext_noop("Error"),
        "text",
        note=gettext_noop("The error without its variable parts."),
    ),
    Column(
        "field",
        gettext_noop("Field"),
        "text",
        note=gettext_noop("Its name in filters."),
    ),
    Column("how", gettext_noop("How"), "text"),
    Column(
        "value",
        gettext_noop("Value"),
        "text",
        note=gettext_noop(
            "For a number: the quarter of its values, or a range of quarters."
        ),
    ),
    Column(
        "failed",
        gettext_noop("Failed with this value"),
        "count",
        link=alike,
        note=gettext_noop(
            "The link opens the dead letters of this queue with this value, of all"
            " groups."
        ),
        adds_up=False,
    ),
    Column(
        "failed_all",
        gettext_noop("Failed"),
        "count",
        note=gettext_noop("In total."),
        adds_up=False,
    ),
    Column("failed_share", gettext_noop("Of the failed"), "share"),
    Column(
        "succeeded", gettext_noop("Accepted with this value"), "count", adds_up=False
    ),
    Column(
        "succeeded_all",
        gettext_noop("Accepted"),
        "count",
        note=gettext_noop("In total."),
        adds_up=False,
    ),
    Column("succeeded_share", gettext_noop("Of the accepted"), "share"),
    Column(
        "lift",
        gettext_noop("How many times as common"),
        "number",
        note=gettext_noop("A dash if no message with this value was accepted."),
    ),
    Column(
        "odds",
        gettext_noop("Odds against chance"),
        "number",
        "to 1",
        note=gettext_noop("At least, to 1; corrected for the number of comparisons."),
    ),
    Column(
        "unknown",
        gettext_noop("Without fields"),
        "count",
        note=gettext_noop("Dead letters whose fields are not in the archive."),
        adds_up=False,
    ),
)


def check(inputs: Inputs, rows: Rows) -> None:
    told = {row["queue"]: row["succeeded_all"] for row in rows if row["field"]}
    if not told:
        return
    known = inputs["messages"].where("priority IS NOT NULL")
    well = inputs["lifelines"].where(WELL)
    well = well.where(well["queue"].isin(list(told))).join(known, "message_id", "semi")
    counted = {row[0]: row[1] for row in well.groupBy("queue").count().collect()}
    for queue, count in told.items():
        require_equal(
            gettext_noop("every accepted message is counted once"),
            count,
            counted[queue],
        )


@report(
    "differences",
    title=gettext_noop("What sets failures apart"),
    question=gettext_noop(
        "What do dead-lettered messages have in common that accepted ones do not?"
    ),
    inputs=("lifelines", "messages"),
    parameters=(
        Parameter(
            DAYS,
            "count",
            30,
            gettext_noop("Days"),
            gettext_noop("Up to now."),
            least=1,
            most=400,
        ),
        Parameter(
            "least",
            "count",
            20,
            gettext_noop("Dead letters, at least"),
            gettext_noop("Groups of similar errors with fewer are left out."),
            least=5,
        ),
    ),
    columns=COLUMNS,
    tells=tells,
    check=check,
)
def build(inputs: Inputs, values: Values) -> DataFrame:
    from pyspark import StorageLevel  # noqa: PLC0415  pages do without Spark

    lifelines = inputs["lifelines"]
    spark = lifelines.sparkSession
    # computed once and kept, because it is read twice
    letter = letters(lifelines).localCheckpoint()
    big = spark.sql(
        BIG, args={"least": values["least"]}, letter=letter
    ).localCheckpoint()  # computed once and kept: few rows
    # Kept on disk: several queries read it, and it may be too large for the memory.
    outcome = spark.sql(
        OUTCOMES, letter=letter, big=big, lifelines=lifelines,
        messages=inputs["messages"],
    ).localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)  # fmt: skip
    total = spark.sql(TOTALS, outcome=outcome).localCheckpoint()
    return spark.sql(
        f"""
        SELECT cluster, queue, label, field, how, value, {A}, coalesce({F}, died.n, 0)
                AS {F},
            {A} / {F} AS failed_share, {B}, {S}, {B} / {S} AS succeeded_share,
            ({A} / {F}) / nullif({B} / {S}, 0) AS lift,
            floor(least({MOST_SURE}D, exp(sure))) AS odds,
            dead_letters - coalesce(died.n, 0) AS unknown
        FROM {{big}} AS big LEFT JOIN {{chosen}} AS chosen USING (cluster, queue)
        LEFT JOIN {{total}} AS died USING (cluster, queue)
        WHERE rank <= {SHOWN} OR coalesce(died.n, 0) < {LEAST}
        ORDER BY dead_letters DESC, cluster, queue, rank
        """,  # noqa: S608  # constants
        big=big,
        chosen=significant_fields(outcome, total),
        total=total,
    )
