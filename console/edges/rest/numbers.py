"""The two numbers of a message, in answers of REST."""

from __future__ import annotations

from ninja import Schema


class Numbered(Schema):
    """The two numbers of a message. URLs, filters and operations accept both; a
    settlement names the copies that it holds, by ``message_id``."""

    message_id: int  # the id of this copy: a dead letter or a resubmit has another
    number: int  # the number that pages show, which all copies of the message share
