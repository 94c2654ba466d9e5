// rhea with promises: each call waits for its answer, ten seconds at most.

import { randomUUID } from 'node:crypto';
import rhea from 'rhea';

const WITHIN_MS = 10000;
const OUTCOMES = ['accepted', 'rejected', 'released', 'modified'];

export const { types, filter } = rhea;

/** The next event of one of these names, and its context. */
export function next(emitter, ...names) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`none of ${names} within ${WITHIN_MS} ms`)), WITHIN_MS,
    );
    for (const name of names) {
      emitter.once(name, (context) => {
        clearTimeout(timer);
        resolve({ name, ...context, context });
      });
    }
  });
}

export async function until(holds) {
  for (const end = Date.now() + WITHIN_MS; !holds();) {
    if (Date.now() > end) throw new Error(`not within ${WITHIN_MS} ms: ${holds}`);
    await new Promise((resolve) => { setTimeout(resolve, 5); });
  }
}

/** A connection that is open. Throws what refuses it. */
export async function connect(options) {
  const container = rhea.create_container(
    options.container_id ? { id: options.container_id } : {},
  );
  container.on('error', () => {});  // each is looked for where it belongs
  const connection = container.connect({ reconnect: false, ...options });
  const opened = await next(
    connection, 'connection_open', 'connection_error', 'disconnected',
  );
  if (opened.name !== 'connection_open') {
    throw opened.error || connection.error || new Error(opened.name);
  }
  // One that is refused is opened first, and closed at once.
  if (connection.properties?.['amqp:connection-establishment-failed']) {
    if (!connection.error) await next(connection, 'connection_error');
    throw connection.error;
  }
  return new Client(connection);
}

export class Client {
  constructor(connection) {
    this.connection = connection;
  }

  async sender(target, options = {}) {
    const sender = this.connection.open_sender({ name: randomUUID(), target, ...options });
    await opened(sender, 'sender');
    await until(() => sender.credit);
    return sender;
  }

  async receiver(source, options = {}) {
    const receiver = this.connection.open_receiver({
      name: randomUUID(), source, credit_window: 0, autoaccept: false, ...options,
    });
    const inbox = new Inbox(receiver);
    await opened(receiver, 'receiver');
    return inbox;
  }

  /** Put messages, of bodies or whole, and wait for each to be accepted. */
  async put(address, ...messages) {
    const sender = await this.sender(address);
    for (const one of messages) {
      const message = one !== null && typeof one === 'object' && 'body' in one ? one : { body: one };
      const { name, error } = await ask(sender, message);
      if (name !== 'accepted') throw error || new Error(name);
    }
    await close(sender, 'sender');
  }

  /** All that is there: taken and accepted. */
  async all(source) {
    const inbox = await this.receiver(source);
    const taken = await inbox.drain();
    taken.forEach(({ delivery }) => delivery.accept());
    await close(inbox.receiver, 'receiver');
    return taken.map(({ message }) => message);
  }

  /** The bodies of all that is there, browsed. */
  async seen(address, more = {}) {
    const inbox = await this.receiver({ address, distribution_mode: 'copy', ...more });
    const taken = await inbox.drain();
    await close(inbox.receiver, 'receiver');
    return taken.map(({ message }) => message.body);
  }

  /** The condition by which an attach is refused. */
  async refused(kind, terminus, options) {
    try {
      await this[kind](terminus, options);
    } catch (error) {
      return error.condition;
    }
    throw new Error('it was not refused');
  }

  async close() {
    const closed = next(this.connection, 'connection_close');
    this.connection.close();
    await closed;
  }

  /** Go without a word. */
  drop() {
    this.connection.socket.destroy();
  }
}

/** What a receiver is given, in order. */
export class Inbox {
  constructor(receiver) {
    this.receiver = receiver;
    this.came = [];
    receiver.on('message', (context) => this.came.push(context));
  }

  async get() {
    await until(() => this.came.length);
    return this.came.shift();
  }

  /** One more message, by a credit of one. */
  async one() {
    this.receiver.add_credit(1);
    return this.get();
  }

  async drain(credit = 100) {
    const drained = next(this.receiver, 'receiver_drained');
    this.receiver.add_credit(credit);
    this.receiver.drain_credit();
    await drained;
    this.receiver.drain = false;
    return this.came.splice(0);
  }
}

/** Send, whatever the answer is: the name of the outcome, and the error. */
export async function ask(sender, message, tag) {
  const answered = next(sender, ...OUTCOMES);
  const sent = sender.send(message, tag);
  const { name, delivery } = await answered;
  if (delivery !== sent) throw new Error('an answer to something else');
  return { name, error: delivery.remote_state?.error };
}

export async function close(endpoint, kind) {
  const closed = next(endpoint, `${kind}_close`);
  endpoint.close();
  await closed;
}

async function opened(endpoint, kind) {
  await next(endpoint, `${kind}_open`);
  const terminus = kind === 'sender' ? endpoint.target : endpoint.source;
  if (terminus?.value == null) {  // null on the wire, too
    if (!endpoint.error) await next(endpoint, `${kind}_error`);
    throw endpoint.error;
  }
}
