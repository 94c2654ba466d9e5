"""One message, edited: its copy is sent at once."""

from __future__ import annotations

from ninja import Router

from broker.acts.messages import edit_message
from console.edges.rest.acts import serve

router = Router(tags=["repairs"])

serve(
    router,
    "POST",
    "/messages/{int:message_id}/edit",
    edit_message,
    message_id="message",
)
