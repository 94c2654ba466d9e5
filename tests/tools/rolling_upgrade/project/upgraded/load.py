"""A client that puts numbered messages until SIGTERM, each until it is stored.

    python -m upgraded.load WAY NAME MESSAGES_PER_SECOND

At its end it prints how many it sent, how long those took that took long, and what was
answered to attempts that failed.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

AGAIN_S = 0.05
ANSWERS_WITHIN_S = 20.0
LONG_S = 0.1
Put = Callable[[str], None]


def main(way: str, name: str, per_second: float) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    put = WAYS[way]()
    sent, waits, errors = 0, list[tuple[float, float]](), Counter[str]()
    began = time.time()
    while not stop.is_set():
        before = time.time()
        while not attempt(put, f"{name} {sent}", errors):
            time.sleep(AGAIN_S)
        sent += 1
        waits.append((before, time.time() - before))
        stop.wait(max(0.0, began + sent / per_second - time.time()))
    waits = [one for one in waits if one[1] > LONG_S]
    print(json.dumps({"sent": sent, "waits": waits, "errors": errors}))


def attempt(put: Put, body: str, errors: Counter[str]) -> bool:
    try:
        put(body)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is counted
        errors[f"{type(error).__name__}: {str(error).strip()[:200]}"] += 1
        return False
    return True


def rest() -> Put:
    """Over REST, at the first of two ports that answers."""
    ports = itertools.cycle(os.environ["WEB_PORTS"].split(","))
    headers = {
        "Authorization": f"Bearer {os.environ['SECRET']}",
        "Content-Type": "application/json",
        "Host": "localhost",
    }
    line: http.client.HTTPConnection | None = None

    def put(body: str) -> None:
        nonlocal line
        line = line or http.client.HTTPConnection(
            "127.0.0.1", int(next(ports)), timeout=ANSWERS_WITHIN_S
        )
        try:
            line.request(
                "POST",
                "/api/v1/addresses/orders/messages",
                json.dumps({"body": body, "encoding": "text"}),
                headers | {"Idempotency-Key": body},
            )
            answer = line.getresponse()
            said = answer.read()
            if answer.status >= 300:
                raise OSError(f"{answer.status} {said.decode()}")
        except Exception:
            line.close()
            line = None
            raise

    return put


def amqp() -> Put:
    """Over AMQP 1.0 with Qpid Proton, at the first of two ports that answers."""
    from proton import Delivery, Message  # noqa: PLC0415  # not all installations have it
    from proton.utils import BlockingConnection  # noqa: PLC0415

    ports = itertools.cycle(os.environ["AMQP_PORTS"].split(","))
    line: Any = None
    sender: Any = None

    def put(body: str) -> None:
        """Proton tells of a close that came with an answer, and not of the answer."""
        nonlocal line, sender
        sent: Any = None
        try:
            if line is None:
                line = BlockingConnection(
                    f"amqp://127.0.0.1:{next(ports)}",
                    timeout=ANSWERS_WITHIN_S,
                    user="load",
                    password=os.environ["SECRET"],
                    allowed_mechs="PLAIN",
                    allow_insecure_mechs=True,
                )
                sender = line.create_sender("orders")
            whole = Message(body=body.encode(), inferred=True, durable=True)
            sent = sender.link.send(whole)
            line.wait(lambda: sent.settled, timeout=ANSWERS_WITHIN_S)
            sent.settle()
            if sent.remote_state != Delivery.ACCEPTED:
                raise OSError(f"not accepted: {sent.remote_state}")
        except Exception:
            line = None
            if sent is None or sent.remote_state != Delivery.ACCEPTED:
                raise

    return put


def database() -> Put:
    """In the database, with the code of this installation."""
    import django  # noqa: PLC0415  # the other ways need none

    django.setup()

    from django.db import IntegrityError, connection, transaction  # noqa: PLC0415

    from broker.client import put as put_one  # noqa: PLC0415

    def put(body: str) -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("INSERT INTO sent (body) VALUES (%s)", [body])
                put_one("orders", body.encode())
        except IntegrityError:  # an earlier attempt has been committed
            return
        except Exception:
            connection.close()
            raise

    return put


WAYS = {"rest": rest, "amqp": amqp, "database": database}

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
