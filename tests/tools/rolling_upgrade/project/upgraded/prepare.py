"""Makes two queues and a credential; prints the secret.

    python -m upgraded.prepare MESSAGES

So many messages lie on the queue that nobody consumes.
"""

from __future__ import annotations

import sys

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.db import connection  # noqa: E402

from broker.client import NewMessage, put_many  # noqa: E402
from broker.models import Address, AddressSetting, Queue  # noqa: E402
from broker.security import credentials  # noqa: E402

BATCH = 1000
TABLES = """
CREATE TABLE sent (body text PRIMARY KEY);
CREATE TABLE handled (body text PRIMARY KEY, times integer DEFAULT 1)"""

if __name__ == "__main__":
    for name in ("orders", "history"):
        Queue.objects.create(name=name, address=Address.objects.create(name=name))
    AddressSetting.objects.create(match="orders", max_delivery_attempts=-1)
    user = User.objects.create_superuser("amelia")
    _, secret = credentials.create("load", user)
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
    for _first in range(0, int(sys.argv[1]), BATCH):
        put_many([NewMessage("history", b"x" * 200)] * BATCH)
    print(secret)
