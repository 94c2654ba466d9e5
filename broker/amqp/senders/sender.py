"""What a client gets through one endpoint: by its credit, and never more.

Entries are taken ahead in a thread, and are this process's from then on. One look at
the queue runs at a time. What the client says of them is in ``settling``, and how the
endpoint ends in ``parting``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from struct import Struct

from broker.amqp.interfaces import End, Snapshot
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

SETTLED = 1  # snd-settle-mode
TAG = Struct(">QQ")  # 16 bytes: clients of Azure's take a tag for a GUID


class Gets(End):
    """The ``End`` of an endpoint by which a client gets.

    ``ended`` is done once it is over and the database holds nothing of it any more.

    A client that wants deliveries settled (``snd-settle-mode``) gets each at most once:
    they are accepted before they are sent.
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
        """Begin; nothing is taken before ``flowed``.

        Args:
            client: whose endpoint.
            endpoint: the protocol's.
            queue: where to take from.
            selector: what the client wants, which is in the language; empty is all.
            no_local: what the same client has put is accepted unseen.
            mark: the client may mark deliveries so that they skip a backout.
            subscription: that ends with the endpoint: one that is not durable in any
                case, a durable one if the client closes the endpoint for good.
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

    # What the listener tells.

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
        """What the client gave no outcome goes back uncounted, at once, in order."""
        self.part(Parting(self, is_closed=closed))

    def lost(self) -> None:
        """What the client may have seen counts as the queue's policy says."""
        self.part(Parting(self, is_lost=True))

    def snapshot(self) -> Snapshot:
        unsettled = len(self.held) - len(self.held.unsent)
        return Snapshot(
            self.endpoint.credit, unsettled, self.messages, self.held.settled
        )

    # What transactions tell; see ``settling``.

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

    # To the client.

    @property
    def is_over(self) -> bool:
        return self.parting is not None

    @property
    def is_blocked(self) -> bool:
        """Whether the client's window is shut, or its socket full."""
        return self.client.paused or not self.endpoint.session.can_send

    def go_on(self) -> None:
        """Do what can be done now; harmless at any time."""
        if self.parting is not None:
            self.parting.go_on()
            return
        self.dispatch()
        self.looking.consider()

    def dispatch(self) -> None:
        """Send what was taken, as far as the client has room."""
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
            while len(unsent) > self.endpoint.credit:  # it was withdrawn
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
        """Take these no more, until the client attaches anew."""
        if deliveries:
            self.held.hide(deliveries)
            self.looking.choose()

    # When it goes wrong, and when it ends.

    def failed(self, error: BaseException) -> None:
        """A look or an outcome could not be."""
        why = why_it_ends(error, self.node)
        if self.is_over:
            self.go_on()
        elif why is None:
            self.looking.consider_in(AWAY_S)
        else:
            self.force(why)

    def force(self, error: AmqpError) -> None:
        """End it ourselves."""
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
