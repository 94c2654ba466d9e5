"""The loop of a worker process: transform one message after the other.

It runs foreign code, which may do anything to this process.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from django.db import close_old_connections

from broker.bridges.transformers import carrying
from broker.bridges.transformers.checking import checked
from broker.bridges.transformers.frames import WorkerFrame, receive, send
from broker.bridges.transformers.running import call
from broker.errors.bridges import NoSuchTransformer, TransformerFailed


def serve(channel: socket.socket) -> None:
    """Answer requests until the channel is closed."""
    os.register_at_fork(after_in_child=channel.close)
    with suppress(EOFError, OSError):  # the channel is closed
        while True:
            asked = receive(channel)
            # A database connection may have broken since the last request.
            close_old_connections()
            this = os.getpid()
            reply = answer(asked)
            if os.getpid() != this:  # the transformer forked, and both returned
                os._exit(0)
            send(channel, reply)


def answer(asked: WorkerFrame) -> bytes:
    name, message, context = carrying.question(asked)
    try:
        outcome = checked(name, call(name, message, context), message)
    except TransformerFailed as failure:
        return carrying.failed(failure.why)
    except NoSuchTransformer:
        return carrying.failed(
            "Its worker process does not know it. Register it in the module"
            " transformers of an installed application, or name its module in"
            " BACKOUT_TRANSFORMERS."
        )
    return carrying.answered(outcome)
