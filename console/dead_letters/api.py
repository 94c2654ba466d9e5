"""Dead letters, their groups and rules, and the discard bin over REST."""

from __future__ import annotations

from ninja import Router

from broker.acts.discards import restore_messages
from broker.acts.groups import (
    acknowledge_group,
    describe_group,
    reopen_group,
    snooze_group,
)
from broker.acts.rules import save_rules, switch_rules
from console.dead_letters.queries.discards import list_discards
from console.dead_letters.queries.letters import list_groups, list_letters, read_group
from console.dead_letters.queries.rules import (
    list_rules,
    preview_rules,
    read_passes,
    read_rules,
)
from console.edges.rest.acts import serve
from console.edges.rest.queries import serve_query
from dashboards.live import attention

letters = Router(tags=["dead letters"])
serve_query(letters, "/dead-letters", list_letters)

groups = Router(tags=["dead letter groups"])
EVERY, ONE = "/dead-letter-groups", "/dead-letter-groups/{fingerprint}"
serve_query(groups, EVERY, list_groups)
serve_query(groups, ONE, read_group)
for method, path, one in (
    ("PUT", "description", describe_group),
    ("POST", "acknowledge", acknowledge_group),
    ("POST", "snooze", snooze_group),
    ("POST", "reopen", reopen_group),
):
    serve(groups, method, f"{ONE}/{path}", one, after=attention.forget)

rules = Router(tags=["dead letter rules"])
OF_QUEUE = "/queues/{queue:name}/dead-letter-rules"
serve_query(rules, "/dead-letter-rules", list_rules)
serve_query(rules, OF_QUEUE, read_rules, name="queue")
serve(rules, "PUT", OF_QUEUE, save_rules, name="queue")
serve(rules, "POST", f"{OF_QUEUE}/mode", switch_rules, name="queue")
serve_query(rules, f"{OF_QUEUE}/preview", preview_rules, method="POST", name="queue")
serve_query(rules, f"{OF_QUEUE}/passes", read_passes, name="queue")

discards = Router(tags=["discard bin"])
serve_query(discards, "/discards", list_discards)
serve(discards, "POST", "/discards/restore", restore_messages)
