"""Fields of messages for the archive: headers and properties, never the body.

A message is deleted some days after it was settled. The archive keeps the fields that
may distinguish failed messages from others for longer. Long texts are cut. Values that
any redaction rule masks on any queue are masked here, because the archive does not
follow a message from queue to queue.
"""

from __future__ import annotations

import pyarrow as pa

from broker.security import redaction
from broker.security.redaction import Veil
from dashboards.pipeline.properties import columns, cut

VERSION = 2  # the version of the columns; sources.py has a reader for each version
# All fields but the first two are null if the message was already deleted.
FIELDS = """
    message_id bigint, at timestamp, priority smallint, durable boolean, subject string,
    content_type string, producer string, group_id string, reply_to string, size bigint,
    report bigint, feedback bigint, properties map<string, string>,
    numbers map<string, double>
"""
ADDED = "report bigint, feedback bigint, "  # in version 2: IBM MQ's fields of the MQMD
TEXTS = ("subject", "content_type", "producer", "group_id", "reply_to")


def kept(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of ``puts_between.sql`` in the archive's format."""
    veil = Veil(redaction.sight_of(None).rules)
    for name in TEXTS:
        batch = batch.set_column(batch.column_names.index(name), name, cut(batch[name]))
    texts, numbers = columns(batch["properties"], veil)
    place = batch.column_names.index("properties")
    batch = batch.set_column(place, "properties", texts)
    return batch.append_column("numbers", numbers)
