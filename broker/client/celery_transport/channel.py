"""A channel, as kombu's producers and consumers call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from kombu.transport.base import StdChannel

from broker.client.celery_transport import failures, messages, queues, routing
from broker.client.celery_transport.fetching import TaskConsumer
from broker.client.celery_transport.messages import TaskMessage
from broker.config.names import address_of
from broker.errors import NoSuchAddress
from broker.models import Queue
from broker.queueing.get import Delivery
from broker.queueing.put import put_many
from broker.settlement.outcomes import Accept, BackOut, Outcome, Reject, Release
from broker.transactions.prefetch import Prefetched

REQUEUED = "The worker requeued the task."
REJECTED = "The worker rejected the message."
Callback = Callable[[TaskMessage], object]


class DeclareOk(NamedTuple):
    """The answer to ``queue_declare``."""

    queue: str
    message_count: int
    consumer_count: int


class Channel(StdChannel):  # type: ignore[misc]  # kombu has no types
    """A channel of one connection. Deliveries may be settled in any thread; the other
    methods are called in one thread at a time."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        options = connection.client.transport_options
        # Whether priority 0 is the highest, as with Redis; otherwise 9 is, as with
        # RabbitMQ.
        self.zero_first = bool(options.get("zero_first", False))
        # Whether a task that failed becomes a dead letter.
        self.keeps_failures = bool(options.get("dead_letters", True))
        self.prefetch_count = 0  # 0: no limit
        self.unread = 0  # deliveries of all consumers that were not handed over yet
        self.unacked: dict[str, TaskMessage] = {}
        self.consumers: dict[str, TaskConsumer] = {}
        # Deliveries that cancelled consumers have prefetched.
        self.ended: list[Prefetched] = []
        self.temporary: set[str] = set()  # queues to delete with their last consumer
        self.closed = False
        self.tags = count(1)

    # Exchanges, queues and bindings.

    def exchange_declare(self, exchange: str = "", **how: Any) -> None:
        """Remember the type of an exchange; it exists by its bindings."""
        self.connection.kinds[exchange] = how.get("type") or "direct"

    def exchange_delete(self, exchange: str, **_: Any) -> None:
        routing.delete(exchange)
        self.connection.kinds.pop(exchange, None)

    def queue_declare(
        self,
        queue: str = "",
        passive: bool = False,  # noqa: FBT001, FBT002  # as kombu calls it
        exclusive: bool = False,  # noqa: FBT001, FBT002
        auto_delete: bool = False,  # noqa: FBT001, FBT002
        **_: Any,
    ) -> DeclareOk:
        """Create a queue unless it exists.

        Raises:
            ChannelError: it is to exist, and does not; 404.
        """
        if passive:
            found = queues.find(queue)
        else:
            found = queues.declare(queue, is_temporary=exclusive or auto_delete)
            self.connection.declared.add(found.name)
        if exclusive:
            self.connection.exclusive.add(found.name)
        if auto_delete:
            self.temporary.add(found.name)
        depth = queues.depth(found) if passive else 0
        return DeclareOk(found.name, depth, 0)

    def queue_bind(
        self, queue: str, exchange: str = "", routing_key: str = "", **_: Any
    ) -> None:
        if exchange:
            found, key = queues.find(queue), routing_key or ""
            binding = exchange, self.connection.kinds.get(exchange, "direct"), key
            routing.bind(found, *binding)
            if found.kind == Queue.Kind.TEMPORARY:
                self.connection.bindings.setdefault(queue, set()).add(binding)

    def queue_unbind(
        self, queue: str, exchange: str = "", routing_key: str = "", **_: Any
    ) -> None:
        routing.unbind(queue, exchange, routing_key or "")
        kept = self.connection.bindings.get(queue, set())
        kept -= {one for one in kept if one[::2] == (exchange, routing_key or "")}

    def declare_again(self, queue: Queue) -> Queue | None:
        """A queue in place of one that is gone; None if there is none.

        A temporary queue ends with its process, and a process that had no database for
        a while counts as dead.
        """
        if queue.kind != Queue.Kind.TEMPORARY:
            return Queue.objects.filter(name=queue.name).first()
        if queue.name not in self.connection.declared:  # a client has deleted the queue
            return None
        found = queues.declare(queue.name, is_temporary=True)
        for binding in self.connection.bindings.get(queue.name, ()):
            routing.bind(found, *binding)
        return found

    def queue_purge(self, queue: str, **_: Any) -> int:
        return queues.purge(queues.find(queue))

    def queue_delete(
        self,
        queue: str,
        if_unused: bool = False,  # noqa: FBT001, FBT002
        if_empty: bool = False,  # noqa: FBT001, FBT002
        **_: Any,
    ) -> int:
        """Delete a queue; return the number of its messages. One that does not exist,
        or is not empty where it has to be, is left alone."""
        found = Queue.objects.filter(name=queue).first()
        if found is None or (if_empty and queues.depth(found)):
            return 0
        self.connection.declared.discard(queue)
        self.connection.bindings.pop(queue, None)
        return queues.delete(found)

    def get_table(self, exchange: str) -> list[tuple[str, str, str]]:
        return routing.table(exchange)

    # Messages to the broker.

    def prepare_message(
        self,
        body: str | bytes,
        priority: int | None = None,
        content_type: str | None = None,
        content_encoding: str | None = None,
        headers: Mapping[str, Any] | None = None,
        properties: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        return {
            "body": body,
            "content-type": content_type,
            "content-encoding": content_encoding,
            "headers": dict(headers or {}),
            "properties": {"priority": priority, **(properties or {})},
        }

    def basic_publish(
        self, message: Mapping[str, Any], exchange: str, routing_key: str, **_: Any
    ) -> None:
        """Send a message, in the transaction of the caller, to all queues that are
        bound by its routing key. If there is none, it is dropped, as in AMQP."""
        exchange, routing_key = exchange or "", routing_key or ""
        to = [routing_key] if not exchange else routing.addresses(exchange, routing_key)
        made = [
            messages.new_message(
                message,
                address=address,
                exchange=exchange,
                routing_key=routing_key,
                zero_first=self.zero_first,
            )
            for address in to
        ]
        if len(made) == 1:
            self.send(made[0])
        elif made:
            put_many(made)

    def send(self, message: Any) -> None:
        """Put one message. The queue may have been created in a transaction that was
        rolled back; then it is created again."""
        try:
            put_many([message])
        except NoSuchAddress:
            if message.address in self.connection.declared:
                queues.declare(message.address, is_temporary=False)
            else:
                try:
                    message.address = address_of(message.address)
                except NoSuchAddress:
                    return
            put_many([message])

    # Messages from the broker.

    def basic_qos(
        self,
        prefetch_size: int = 0,
        prefetch_count: int = 0,
        apply_global: bool = False,  # noqa: FBT001, FBT002
    ) -> None:
        """Limit the number of unacknowledged messages of this channel; 0: no limit."""
        self.prefetch_count = prefetch_count
        self.connection.fetching.poke()

    def basic_consume(
        self,
        queue: str,
        no_ack: bool,  # noqa: FBT001
        callback: Callback,
        consumer_tag: str,
        **_: Any,
    ) -> str:
        deliver = partial(self.deliver, callback)
        consumer = TaskConsumer(consumer_tag, queues.find(queue), self, deliver, no_ack)
        self.consumers[consumer_tag] = consumer
        self.connection.fetching.add(consumer)
        return consumer_tag

    def deliver(
        self, callback: Callback, consumer: TaskConsumer, got: Delivery
    ) -> None:
        """Give a delivery to the callback of its consumer."""
        self.unread -= 1
        message = self.received(got, consumer.tag)
        if consumer.no_ack:
            self.connection.settling.add(got, Accept())
            self.connection.fetching.poke()
        else:
            self.unacked[message.delivery_tag] = message
        callback(message)

    def received(self, got: Delivery, consumer_tag: str) -> TaskMessage:
        return messages.received(
            got,
            channel=self,
            consumer_tag=consumer_tag,
            tag=str(next(self.tags)),
            zero_first=self.zero_first,
        )

    def basic_cancel(self, consumer_tag: str, **_: Any) -> None:
        consumer = self.consumers.pop(consumer_tag, None)
        if consumer is None:
            return
        self.connection.fetching.remove(consumer)
        self.ended.append(consumer.prefetched)
        name = consumer.queue.name
        left = {one.queue.name for one in self.consumers.values()}
        if name in self.temporary and name not in left:
            self.connection.settling.flush()
            self.queue_delete(name)

    def basic_get(
        self,
        queue: str,
        no_ack: bool = False,  # noqa: FBT001, FBT002
        **_: Any,
    ) -> TaskMessage | None:
        """The next message of a queue, if there is one now."""
        self.connection.settling.flush()
        prefetched = Prefetched(queues.find(queue))
        self.ended.append(prefetched)
        got = prefetched.get(1)
        if not got:
            prefetched.end()
            self.ended.remove(prefetched)
            return None
        message = self.received(got[0], "")
        if no_ack:
            self.connection.settling.add(got[0], Accept())
        else:
            self.unacked[message.delivery_tag] = message
        return message

    def message_to_python(self, message: TaskMessage) -> TaskMessage:
        return message

    @property
    def in_hand(self) -> int:
        """How many messages the client has, or has on their way to it."""
        return len(self.unacked) + self.unread

    def basic_ack(self, delivery_tag: str, multiple: bool = False) -> None:  # noqa: FBT001, FBT002
        """Accept a message; a task that failed is rejected, so that it is kept."""
        tags = self.up_to(delivery_tag) if multiple else [delivery_tag]
        for tag in tags:
            self.end(tag, None)

    def basic_reject(self, delivery_tag: str, requeue: bool = False) -> None:  # noqa: FBT001, FBT002
        """Reject a message: it becomes a dead letter; or a backout is counted, and it
        is delivered again unless its attempts are used up."""
        message = self.unacked.get(delivery_tag)
        failure = message.failure if message is not None else None
        if not requeue:
            self.end(delivery_tag, failure or Reject(REJECTED))
        elif failure is None:
            self.end(delivery_tag, BackOut(REQUEUED))
        else:
            self.end(delivery_tag, BackOut(failure.error, stack=failure.stack))

    def basic_recover(self, requeue: bool = False, **_: Any) -> None:  # noqa: FBT001, FBT002
        """Release all unacknowledged messages: they are delivered again."""
        for tag in list(self.unacked):
            self.end(tag, Release())

    def up_to(self, delivery_tag: str) -> list[str]:
        return [tag for tag in list(self.unacked) if int(tag) <= int(delivery_tag)]

    def end(self, delivery_tag: str, outcome: Outcome | None) -> None:
        message = self.unacked.pop(delivery_tag, None)
        if message is None:
            return
        outcome = outcome or message.failure or Accept()
        self.connection.settling.add(message.delivery, outcome)
        if 2 * self.in_hand <= (self.prefetch_count or 2) or not self.unread:
            self.connection.fetching.go_on()

    def put_aside(self, delivery: Delivery, failure: Reject) -> None:
        """Keep a task that failed after it was acknowledged."""
        job = partial(failures.dead_letter, delivery, failure)
        self.connection.settling.run_soon(job)

    def flow(self, active: bool = True) -> None:  # noqa: FBT001, FBT002
        raise NotImplementedError("Channels of this transport have no flow.")

    def close(self) -> None:
        """Cancel all consumers, and release unacknowledged messages. A child process
        leaves all that to its parent."""
        if self.closed or self.connection.is_inherited:
            return
        self.closed = True
        for tag in list(self.consumers):
            self.basic_cancel(tag)
        self.basic_recover(requeue=True)
        connection = self.connection
        if self.ended:
            connection.settling.flush()
            connection.fetching.end(self.ended)
            self.ended = []
        connection.close_channel(self)
