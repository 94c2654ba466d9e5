"""What a worker process does: it transforms one message after the other.

The code that it runs is anybody's, and may do what it likes to this process.
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
    """Answer what is asked, until nobody is there to ask."""
    os.register_at_fork(after_in_child=channel.close)
    with suppress(EOFError, OSError):  # nobody asks any more, or waits for the answer
        while True:
            asked = receive(channel)
            close_old_connections()  # as before a request: one may have broken since
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
