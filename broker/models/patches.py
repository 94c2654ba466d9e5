"""Patches: changes that an operation makes to the messages it resubmits or moves."""

from __future__ import annotations

from django.db import models

from broker.models.operations import Operation


class OperationPatch(models.Model):
    """The patch of an operation, and a preview of it for all messages.

    The results are in the items of the operation. A patched message is only marked as
    a copy.
    """

    operation = models.OneToOneField(
        Operation, models.CASCADE, primary_key=True, related_name="patch"
    )
    document = models.TextField()  # JSON text in the format of broker.formats.patches
    # New body, edited by hand, if the operation has only one message.
    body = models.BinaryField(null=True)
    # Whether the preview has read all items.
    is_looked = models.BooleanField(default=False)
    looked = models.IntegerField(default=0)  # number of items read so far
    looked_after = models.BigIntegerField(default=0)  # id of the last item read
    # Groups of messages with the same changes: [{"changes": …, "messages": …,
    # "example": …}]
    alike = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"patch of operation {self.operation_id}"
