"""What the demonstration has beside its traffic, so that no page is empty: a bridge
with two links, a recurring message, a target of alerts, an operation that waits for its
approval, a report.
"""

from __future__ import annotations

from pathlib import Path

from django.contrib.auth.models import Permission

from broker.acts import act
from broker.acts.operations.planning import PlanOperation
from broker.alerts.kinds import TARGET
from broker.bridges.config.kinds import KINDS as BRIDGES
from broker.declarations import declare
from broker.declarations.documents import read
from broker.declarations.kinds import QUEUE, RECURRING, SETTING
from broker.models import AlertTarget, Authority, Operation
from broker.queueing.put import NewMessage, put_many
from broker.security.users import User
from console.demo.reading import JSON
from dashboards.acts import RunReport
from dashboards.models import ReportRun

FILE = Path(__file__).with_name("backout.toml")
KINDS = (QUEUE, SETTING, RECURRING, *BRIDGES, TARGET)
PERMISSIONS = (
    *("broker.view_queue", "broker.resubmit_message"),
    *("dashboards.view_report", "dashboards.run_report"),
)
CLERK, REFUNDS, REPORT = "clerk", "refunds", "dead-letters"


def make_objects() -> None:
    """Declare the objects, and plan what a second person is to approve; once."""
    if AlertTarget.objects.filter(name="operators").exists():
        return
    declarations, _ = read(FILE.read_bytes(), KINDS)
    declare(declarations)
    bodies = [f'{{"refund": {number}}}'.encode() for number in range(1, 6)]
    put_many([NewMessage(REFUNDS, body, content_type=JSON) for body in bodies])
    reason = "These customers have been paid by hand."
    act(clerk(), PlanOperation(Operation.Kind.REMOVE, source=REFUNDS, reason=reason))


def clerk() -> User:
    """Who orders these: a user who cannot sign in."""
    user, is_new = User.objects.get_or_create(username=CLERK)
    if is_new:
        user.set_unusable_password()
        user.save(update_fields=["password"])
        codenames = [name.partition(".")[2] for name in PERMISSIONS]
        needed = Permission.objects.filter(codename__in=codenames)
        user.user_permissions.set(needed)
        Authority.objects.create(
            user=user, pattern=REFUNDS, may_get=True, may_browse=True, may_inquire=True
        )
    return user


def run_report() -> None:
    """Run a report of what there is so far, unless there is a run of it."""
    if not ReportRun.objects.filter(report=REPORT).exists():
        act(clerk(), RunReport(REPORT))
