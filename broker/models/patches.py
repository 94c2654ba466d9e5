"""What an operation changes in the messages that it sends on."""

from __future__ import annotations

from django.db import models

from broker.models.operations import Operation


class OperationPatch(models.Model):
    """The repair of an operation's messages, and what a look at all of them found.

    It stands beside the operation, and what became of each message in its ledger: the
    message itself knows nothing of it but that it is a copy.
    """

    operation = models.OneToOneField(
        Operation, models.CASCADE, primary_key=True, related_name="patch"
    )
    document = models.TextField()  # JSON, as broker.formats.patches reads it
    body = models.BinaryField(null=True)  # of one message that a person edited
    is_looked = models.BooleanField(default=False)  # at all of them
    looked = models.IntegerField(default=0)  # items so far
    looked_after = models.BigIntegerField(default=0)  # the last of these
    # Messages that are changed alike: [{"changes": …, "messages": …, "example": …}]
    alike = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"patch of operation {self.operation_id}"
