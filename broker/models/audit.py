"""The audit log: which user did what. Records are only appended."""

from __future__ import annotations

import json
from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy, gettext_noop

from broker.models.moment_field import MomentField


class Act(models.TextChoices):
    """The acts that are recorded. A label is read after the name of the actor."""

    PLAN = "operation.plan", gettext_noop("planned an operation")
    START = "operation.start", gettext_noop("started an operation")
    CANCEL = "operation.cancel", gettext_noop("cancelled an operation")
    UNDO = "operation.undo", gettext_noop("planned an undo")
    HALT = "operation.pause", gettext_noop("paused an operation")
    CARRY_ON = "operation.continue", gettext_noop("carried on with an operation")
    ALTER = "operation.change", gettext_noop("changed how an operation goes")
    EXPLAIN = (
        "operation.explain",
        gettext_noop("said why an operation is to be approved"),
    )
    APPROVE = "operation.approve", gettext_noop("approved an operation")
    PAUSE = "queue.pause", gettext_noop("paused a queue")
    RESUME = "queue.resume", gettext_noop("resumed a queue")
    RESET_COUNTERS = "queue.reset_counters", gettext_noop("reset counters")
    START_DELIVERY = "queue.start_delivery", gettext_noop("started delivery again")
    SEND = "message.send", gettext_noop("sent a message")
    UNMASK = "message.unmask", gettext_noop("saw what is masked of messages")
    RESTORE = "message.restore", gettext_noop("restored from the discard bin")
    CLOSE_CONNECTION = "connection.close", gettext_noop("asked to close a connection")
    CLOSE_ENDPOINT = "endpoint.close", gettext_noop("asked to close an endpoint")
    CREATE_CREDENTIAL = "credential.create", gettext_noop("made a credential")
    REVOKE_CREDENTIAL = "credential.revoke", gettext_noop("revoked a credential")
    COMMIT_PREPARED = (
        "prepared.commit",
        gettext_noop("committed a prepared unit of work"),
    )
    BACK_OUT_PREPARED = (
        "prepared.back_out",
        gettext_noop("backed out a prepared unit of work"),
    )
    BACK_OUT_UNIT = "unit.back_out", gettext_noop("backed out a unit of work by force")
    CREATE = "settings.create", gettext_noop("created settings")
    CHANGE = "settings.change", gettext_noop("changed settings")
    DELETE = "settings.delete", gettext_noop("deleted settings")
    SIGN_IN = "account.sign_in", gettext_noop("signed in")
    SIGN_OUT = "account.sign_out", gettext_noop("signed out")
    END_SESSION = "account.end_session", gettext_noop("ended a session")
    CREATE_ACCOUNT = "account.create", gettext_noop("made an account")
    SET_PASSWORD = "account.set_password", gettext_noop("set a password")
    ADD_FACTOR = "account.add_factor", gettext_noop("set up a second factor")
    REMOVE_FACTOR = "account.remove_factor", gettext_noop("removed a second factor")
    RESET_FACTOR = "account.reset_factor", gettext_noop("reset a second factor")
    NAME_KEY = "account.name_key", gettext_noop("named a security key")
    NEW_CODES = "account.new_codes", gettext_noop("made new recovery codes")
    USE_CODE = "account.use_code", gettext_noop("used up a recovery code")
    START_LINK = "link.start", gettext_noop("started a link")
    PAUSE_LINK = "link.pause", gettext_noop("paused a link")
    RESUME_LINK = "link.resume", gettext_noop("resumed a link")
    STOP_LINK = "link.stop", gettext_noop("stopped a link")
    DECIDE_BRANCH = "link.decide", gettext_noop("ended a transaction that was in doubt")
    SAY = "group.say", gettext_noop("said something of a group of dead letters")
    WRITE_RULES = "rules.write", gettext_noop("wrote rules for dead letters")
    SWITCH_RULES = "rules.switch", gettext_noop("switched rules for dead letters")
    RUN_REPORT = "report.run", gettext_noop("asked for a report")
    RUN_TASK = "task.run", gettext_noop("ran a scheduled task at once")
    CANCEL_REPORT = "report.cancel", gettext_noop("cancelled a report")
    PUT_RECURRING = "recurring.put", gettext_noop("put a recurring message")
    ACKNOWLEDGE_ALERT = "alert.acknowledge", gettext_noop("acknowledged an alert")
    SILENCE_ALERTS = "alert.silence", gettext_noop("silenced alerts")
    END_SILENCE = "alert.end_silence", gettext_noop("ended a silence of alerts")
    TEST_TARGET = "alert.test", gettext_noop("sent a test notification")
    FILL = "demo.fill", gettext_noop("filled the broker with samples")
    FLUSH = "database.flush", gettext_noop("emptied the database")
    REACH = "page.reach", gettext_noop("went where one may not")


WORDS: dict[str, str] = {one.value: str(one.label) for one in Act}
# Labels of acts that were refused.
REFUSED: dict[str, str] = {Act.SIGN_IN: gettext_noop("tried to sign in")}


class AuditRecord(models.Model):
    """One act, or the attempt at one. ``docs/audit.md`` describes the hash chain.

    The database sets ``number`` and ``hash`` when the transaction of the act commits.
    A record stores names and ids without foreign keys: the actor and the object may be
    deleted later.
    """

    class Actor(models.TextChoices):
        """The kind of actor."""

        USER = "user", gettext_lazy("somebody who had signed in")
        CREDENTIAL = "credential", gettext_lazy("an application, by its credential")
        SYSTEM = "system", gettext_lazy("a user of the operating system, by a command")
        NOBODY = "nobody", gettext_lazy("somebody who had not signed in")

    class Outcome(models.TextChoices):
        DONE = "done", gettext_lazy("Done")
        REFUSED = "refused", gettext_lazy("Refused")

    number = models.BigIntegerField(null=True)
    at = MomentField(db_default=Now())
    actor_kind = models.TextField(choices=Actor)
    actor_id = models.BigIntegerField(null=True)  # id of a user or a credential
    actor = models.TextField()  # name of the user, credential or command
    source = models.TextField()  # the client's host; empty for commands
    act = models.TextField()  # a value of ``Act``
    object_kind = models.TextField()  # as "queue" or "operation"
    object_id = models.TextField()
    object_name = models.TextField()
    outcome = models.TextField(choices=Outcome)
    reason = models.TextField()  # reason of the act, or reason of its refusal
    detail = models.TextField()  # JSON text, in the form that docs/audit.md defines
    operation_id = models.BigIntegerField(null=True)
    hash = models.TextField(null=True)  # hash of the record, in hexadecimal digits

    class Meta:
        managed = False  # so that Django's ``flush`` does not empty it
        db_table = "broker_audit"
        default_permissions = ("view",)
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint("number", name="one_record_a_number"),
        ]
        indexes = [
            models.Index(fields=["at"], name="broker_audit_at"),
            models.Index(fields=["actor", "id"], name="broker_audit_actor"),
            models.Index(fields=["act", "id"], name="broker_audit_act"),
            models.Index(fields=["object_name", "id"], name="broker_audit_object"),
            models.Index(
                fields=["operation_id", "id"],
                name="broker_audit_operation",
                condition=Q(operation_id__isnull=False),
            ),
            models.Index(
                fields=["at", "actor"],
                name="broker_audit_refused",
                condition=Q(outcome="refused"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.words} {self.object_name}".strip()

    @property
    def words(self) -> str:
        """The act as text, to be read after the name of the actor."""
        words = WORDS.get(self.act, self.act)
        return REFUSED.get(self.act, words) if self.is_refused else words

    @property
    def details(self) -> dict[str, Any]:
        found = json.loads(self.detail)
        assert isinstance(found, dict)
        return found

    @property
    def is_refused(self) -> bool:
        return self.outcome == self.Outcome.REFUSED


class AuditCheck(models.Model):
    """The last verification of the hash chain, and the fault it found. One row."""

    number = models.BigIntegerField()  # number of the last record that was verified
    hash = models.TextField()
    checked_at = MomentField(db_default=Now())
    # A sentence; empty if there is no fault.
    fault = models.TextField(blank=True, default="")

    class Meta:
        default_permissions = ()
