"""A link by which a client gets messages, within its credit.

Entries are fetched ahead in a thread, and are claimed by this process from then on. One
fetch runs at a time. Outcomes are handled in ``settle``, the end of the link in
``closing``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from struct import Struct

from broker.amqp.interfaces import CBS, End, Snapshot
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Sender
from broker.amqp.senders.closing import AWAY_S, Parting, why_it_ends
from broker.amqp.senders.fetch import Taker, Wishes
from broker.amqp.senders.fetch_policy import Looking
from broker.amqp.senders.in_flight import InFlight, InFlightEntry
from broker.amqp.senders.interfaces import SenderClient
from broker.amqp.senders.settle import Settling
from broker.formats.selectors import parse
from broker.models import ClientEndpoint, Queue, Subscription
from broker.queueing.get import Delivery as Got
from broker.queueing.selective_get import Search
from broker.settlement.batch import Settlement
from broker.transactions.prefetch import Prefetched

SETTLED = 1  # value of snd-settle-mode
TAG = Struct(">QQ")  # 16 bytes: Azure's clients read a tag as a GUID


class Gets(End):
    """The ``End`` of a link by which a client gets.

    The future ``ended`` is done once the link is over and its unit of work has ended.

    A client that asks for settled deliveries (``snd-settle-mode``) gets each at most
    once: they are accepted before they are sent.
    """

    kind = ClientEndpoint.Kind.GETS.value

    def __init__(  # noqa: PLR0913 - each is named where it is used
        self,
        client: SenderClient,
        endpoint: Sender,
        queue: Queue,
        selector: str = "",
        *,
        no_local: bool = False,
        mark: bool = False,
        subscription: Subscription | None = None,
    ) -> None:
        """Create the end; nothing is fetched before ``flowed``.

        Args:
            client: the client.
            endpoint: the protocol's endpoint.
            queue: the queue to get from.
            selector: a valid selector of the messages to get; empty: all.
            no_local: whether messages put by the same client are accepted without
                sending them.
            mark: whether the client may mark deliveries to skip backout.
            subscription: a subscription that ends with the endpoint; a durable one ends
                only if the client closes the link.
        """
        self.client = client
        self.endpoint = endpoint
        self.queue = queue
        self.queue_id: int = queue.pk
        self.node = queue.name
        self.needs = ("get", queue.name)
        self.mark = mark
        self.subscription = subscription
        attach = endpoint.attach
        wishes = Wishes(
            is_settled=attach is not None and attach.snd_settle_mode == SETTLED,
            not_from=client.container_id if no_local else None,
            largest=endpoint.largest,
            is_azure=client.mechanism == CBS,
        )
        self.is_settled = wishes.is_settled
        search = Search(queue.name, parse(selector)) if selector else None
        ahead = Prefetched(queue, search=search, actor=client.actor, user=client.user)
        self.taker = Taker(queue, ahead, wishes)
        self.held: InFlight = InFlight(client)
        self.settling = Settling(self)
        self.looking = Looking(self, chooses=bool(selector) or no_local)
        self.parting: Parting | None = None
        self.ended: asyncio.Future[None] = client.listener.loop.create_future()
        self.messages = 0

    # Calls from the client's events.

    def flowed(self) -> None:
        self.go_on()

    def resumed(self) -> None:
        self.go_on()

    def disposed(
        self,
        deliveries: Sequence[Delivery],
        state: p.DeliveryState | None,
        settled: bool,  # noqa: FBT001 - as of every End
    ) -> None:
        self.settling.disposed(deliveries, state, is_settled=settled)

    def detached(self, closed: bool) -> None:  # noqa: FBT001 - as of every End
        """Release deliveries without an outcome: at once, uncounted, in order."""
        self.part(Parting(self, is_closed=closed))

    def lost(self) -> None:
        """Back out what the client may have seen; the queue's policy decides whether
        it counts."""
        self.part(Parting(self, is_lost=True))

    def snapshot(self) -> Snapshot:
        unsettled = len(self.held) - len(self.held.unsent)
        return Snapshot(
            self.endpoint.credit, unsettled, self.messages, self.held.settled
        )

    # Calls from transactions; see ``settle``.

    def settlement(
        self, deliveries: Sequence[Delivery], outcome: p.Outcome | None
    ) -> list[Settlement]:
        return self.settling.settlement(deliveries, outcome)

    def discharged(
        self, deliveries: Sequence[Delivery], outcome: p.Outcome | None
    ) -> None:
        self.settling.discharged(deliveries, outcome)

    def rolled_back(self, deliveries: Sequence[Delivery], *, settled: bool) -> None:
        self.settling.rolled_back(deliveries, is_settled=settled)

    def end_badly(
        self, deliveries: Sequence[Delivery], why: str, *, settled: bool
    ) -> None:
        self.settling.end_badly(deliveries, why, is_settled=settled)

    # Entries to the client.

    @property
    def is_over(self) -> bool:
        return self.parting is not None

    @property
    def is_blocked(self) -> bool:
        """Whether the client's session window is closed, or its socket full."""
        return self.client.paused or not self.endpoint.session.can_send

    def go_on(self) -> None:
        """Send and fetch as far as possible now; may be called at any time."""
        if self.parting is not None:
            self.parting.go_on()
            return
        self.dispatch()
        self.looking.consider()

    def dispatch(self) -> None:
        """Send fetched entries, within the client's credit and window."""
        unsent, now = self.held.unsent, self.client.listener.now()
        endpoint, expired = self.endpoint, list[InFlightEntry]()
        session, is_paused = endpoint.session, self.client.paused
        while unsent and endpoint.credit > 0 and session.can_send and not is_paused:
            entry = unsent.popleft()
            if entry.got.expires_at is not None and entry.got.expires_at <= now:
                expired.append(entry)
            else:
                self.send(entry)
        if not self.is_settled:
            while len(unsent) > self.endpoint.credit:  # the client has withdrawn credit
                expired.append(unsent.pop())
            self.settling.release(expired)
        self.client.flush()

    def send(self, entry: InFlightEntry) -> None:
        tag = TAG.pack(entry.got.message_id, self.messages)
        delivery = self.endpoint.send(entry.payload, tag=tag, settled=self.is_settled)
        entry.payload = b""
        self.messages += 1
        if self.is_settled:
            self.held.drop([entry])
            self.held.settled += 1
        else:
            entry.sent, delivery.context = delivery, entry

    def hide(self, deliveries: Sequence[Got]) -> None:
        """Do not fetch these entries again until the client attaches anew."""
        if deliveries:
            self.held.hide(deliveries)
            self.looking.choose()

    # Errors, and the end of the link.

    def failed(self, error: BaseException) -> None:
        """Handle a failed fetch or outcome."""
        why = why_it_ends(error, self.node)
        if self.is_over:
            self.go_on()
        elif why is None:
            self.looking.consider_in(AWAY_S)
        else:
            self.force(why)

    def force(self, error: AmqpError) -> None:
        """Detach the endpoint on the broker's initiative."""
        self.endpoint.detach(closed=True, error=error)
        self.endpoint.context = None
        self.detached(False)  # noqa: FBT003 - as of every End
        self.client.flush()

    def part(self, parting: Parting) -> None:
        if self.parting is not None:
            return
        self.parting = parting
        self.looking.stop()
        parting.begin()
