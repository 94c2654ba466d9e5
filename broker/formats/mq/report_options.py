"""Report options: which combinations are valid, and what a message asks for.

Source:
    IBM MQ documentation, "Report (MQLONG)" and "Report options and message flags".
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from broker.errors.messages import WrongReportOptions
from broker.errors.mq_codes import Format, Report
from broker.formats.messages import AnyMessage

# "With data" has the bits of the plain report and more bits; "with full data" has all.
KINDS_OF_REPORT = {
    Report.EXCEPTION_WITH_FULL_DATA: (Report.EXCEPTION, Report.EXCEPTION_WITH_DATA),
    Report.EXPIRATION_WITH_FULL_DATA: (Report.EXPIRATION, Report.EXPIRATION_WITH_DATA),
    Report.COA_WITH_FULL_DATA: (Report.COA, Report.COA_WITH_DATA),
    Report.COD_WITH_FULL_DATA: (Report.COD, Report.COD_WITH_DATA),
}
NOTICES = Report.PAN | Report.NAN | Report.ACTIVITY
ANY_REPORT = reduce(or_, KINDS_OF_REPORT) | NOTICES
# All bits that this broker or the receiver of a message carries out.
KNOWN = int(reduce(or_, Report.__members__.values())) & ~int(Report.ACTIVITY)
# Bits that a put may carry although they are unknown (MQRO_ACCEPT_UNSUP_MASK).
ACCEPTED_UNKNOWN = 0xEFE000FF
BITS = 0xFFFFFFFF  # a report field is a signed number of 32 bits


def check(report: int, format_: str) -> None:
    """Refuse options that a message cannot be put with.

    Raises:
        WrongReportOptions: two values of one kind were added, an unknown bit must be
            known, or a message for transmission asks for a confirmation of delivery.
    """
    refused = unknown(report) & ~ACCEPTED_UNKNOWN
    refused |= report & Report.COD and format_.strip() == Format.TRANSMISSION
    if refused or any(
        (bits := report & mask) and bits not in (*partial, mask)
        for mask, partial in KINDS_OF_REPORT.items()
    ):
        raise WrongReportOptions(report)


def unknown(report: int) -> int:
    """The bits that this broker does not know."""
    return report & BITS & ~KNOWN


def asks_for(kind: Report, message: AnyMessage) -> bool:
    """Whether a put or a get of a message is to be confirmed.

    Args:
        kind: COA or COD.
        message: which; one that a dead letter program puts or gets asks for nothing:
            it has a dead-letter header, or the properties of a dead letter.
    """
    descriptor = message.descriptor
    if not descriptor:
        return False
    report = descriptor.get("report", 0)
    return (
        isinstance(report, int)
        and bool(report & kind)
        and str(descriptor.get("format", "")).strip() != Format.DEAD_LETTER_HEADER
        and "_BRK_DEATH_REASON" not in message.properties
    )
