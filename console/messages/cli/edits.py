"""What ``backout message edit`` shows before it is done."""

from __future__ import annotations

from broker.acts.messages import EditMessage, plan_edit
from broker.security.authorities import Principal
from console.bodies.text_diff import difference
from console.edges.commands import printing
from console.messages import repair_form


def preview(actor: Principal, request: EditMessage) -> list[str]:
    """What the edited copy has in place of what the message has, line by line."""
    edit = plan_edit(actor, request)
    after = repair_form.repaired(edit.on.subject, edit.repair)
    shown = difference(edit.on.subject, after)
    return [
        f"{one.sign or ' '} {printing.in_words(one.text)}"
        for one in (*shown.headers, *shown.body)
    ]
