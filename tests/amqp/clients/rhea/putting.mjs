// What rhea puts, and what it is told of it.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { ask, close, connect, next, types, until } from './client.mjs';

export async function bodiesSurvive(options) {
  const client = await connect(options);
  const bodies = [
    'text', 'naïve – text', '', 5, -1.5, true, null, [1, 'two', null],
    { a: 1, b: [true, { c: 'd' }] }, Buffer.from([0, 255, 0x53]),
  ];
  await client.put('orders', ...bodies.map((body) => ({ body })));

  const got = await client.all('orders');

  assert.deepEqual(got.map((one) => one.body), bodies);
}

export async function dataSectionsSurvive(options) {
  const client = await connect(options);
  const { default: { message } } = await import('rhea');
  const one = message.data_section(Buffer.from('bytes\0'));
  const two = message.data_sections([Buffer.from('a'), Buffer.from('b')]);
  const sequence = message.sequence_section([1, 2]);
  await client.put('orders', { body: one }, { body: two }, { body: sequence });

  const [a, b, c] = await client.all('orders');

  assert.equal(a.body.typecode, 0x75);
  assert.deepEqual(a.body.content, Buffer.from('bytes\0'));
  assert.deepEqual(b.body.content, [Buffer.from('a'), Buffer.from('b')]);
  assert.equal(c.body.typecode, 0x76);
  assert.deepEqual(c.body.content, [1, 2]);
}

export async function propertiesSurvive(options) {
  const client = await connect(options);
  const said = {
    message_id: 'order-7', correlation_id: 7, priority: 7, ttl: 60000, durable: true,
    subject: 'apples', reply_to: 'answers', content_type: 'text/plain',
    content_encoding: 'identity', group_id: 'g', group_sequence: 3, reply_to_group_id: 'r',
    creation_time: 1700000000000,
    application_properties: { tenant: 't7', size: 3, good: true, rate: 1.5 },
    message_annotations: { 'x-shop': 'corner', 'x-number': 5 },
    body: 'x',
  };
  await client.put('orders', said);

  const [got] = await client.all('orders');

  const { ttl, ...others } = said;
  for (const [name, value] of Object.entries(others)) {
    if (name === 'creation_time') assert.equal(Number(got[name]), value);
    else if (name === 'message_annotations') assert.equal(got[name]['x-shop'], 'corner');
    else assert.deepEqual(got[name], value, name);
  }
  assert(got.ttl > 50000 && got.ttl <= ttl);
  assert(!got.delivery_count);
}

export async function idsKeepTheirType(options) {
  const client = await connect(options);
  const uuid = randomBytes(16);
  const ids = ['text', types.wrap_uuid(uuid), types.wrap_binary(Buffer.from([0, 255]))];
  await client.put('orders', ...ids.map((id) => ({ body: 'x', message_id: id, correlation_id: id })));

  const [text, unique, binary] = await client.all('orders');

  assert.equal(text.message_id, 'text');
  assert.deepEqual(Buffer.from(unique.correlation_id), uuid);
  assert.deepEqual(binary.correlation_id, Buffer.from([0, 255]));
}

export async function manySendsAreConfirmed(options) {
  const client = await connect(options);
  const sender = await client.sender('orders');
  let accepted = 0;
  sender.on('accepted', () => { accepted += 1; });
  for (let sent = 0; sent < 1000;) {
    await until(() => sender.sendable());
    for (; sender.sendable() && sent < 1000; sent += 1) sender.send({ body: sent });
  }
  await until(() => accepted === 1000);
  const got = await client.receiver('orders');
  assert.equal((await got.drain(1000)).length, 1000);
}

export async function aSettledSenderPuts(options) {
  const client = await connect(options);
  const sender = await client.sender('orders', { snd_settle_mode: 1 });
  for (const body of [1, 2, 3]) sender.send({ body });
  const inbox = await client.receiver('orders');
  const got = [await inbox.one(), await inbox.one(), await inbox.one()];
  assert.deepEqual(got.map(({ message }) => message.body), [1, 2, 3]);
}

export async function tagsAreBytes(options) {
  const client = await connect(options);
  const sender = await client.sender('orders');
  for (let i = 0; i < 20; i += 1) {
    assert.equal((await ask(sender, { body: i }, randomBytes(16))).name, 'accepted');
  }
  const inbox = await client.receiver('orders');
  const got = await inbox.drain();
  assert(got.every(({ delivery }) => delivery.tag.length === 16));
  assert.equal(new Set(got.map(({ delivery }) => delivery.tag.toString('hex'))).size, 20);
}

export async function theRelayAnswersForEach(options) {
  const client = await connect(options);
  const sender = await client.sender({ address: null });
  const told = [];
  for (const to of ['orders', 'nowhere', undefined, 'answers', 'orders']) {
    const { name, error } = await ask(sender, { to, body: 1 });
    told.push(error?.condition || name);
  }
  assert.deepEqual(told, [
    'accepted', 'amqp:not-found', 'amqp:precondition-failed',
    'amqp:resource-limit-exceeded', 'accepted',
  ]);
  assert.deepEqual(await client.seen('orders'), [1, 1]);
}

export async function aMessageIsDelayed(options) {
  const client = await connect(options);
  for (const wish of [
    () => ({ 'x-opt-delivery-delay': types.wrap_uint(500) }),
    () => ({ 'x-opt-delivery-time': types.wrap_timestamp(Date.now() + 500) }),
  ]) {
    const begun = Date.now();
    await client.put('orders', { body: 'later', message_annotations: wish() });
    assert.deepEqual(await client.all('orders'), []);
    const inbox = await client.receiver('orders');
    const { message, delivery } = await inbox.one();
    delivery.accept();
    assert.equal(message.body, 'later');
    assert(Date.now() - begun >= 400);
    await close(inbox.receiver, 'receiver');
  }
}

export async function errorsLeaveTheConnection(options) {
  const client = await connect(options);
  assert.deepEqual([
    await client.refused('sender', 'nowhere'),
    await client.refused('receiver', 'nowhere'),
    await client.refused('sender', 'answers'),
    await client.refused('receiver', 'answers'),
  ], [
    'amqp:not-found', 'amqp:not-found',
    'amqp:not-found', 'amqp:not-found',
  ]);
  await client.put('orders', 'still here');
  assert.deepEqual(await client.seen('orders'), ['still here']);
}

export async function aFullQueueRefuses(options) {
  const client = await connect(options);
  const sender = await client.sender('orders');
  assert.equal((await ask(sender, { body: 1 })).name, 'accepted');
  const { name, error } = await ask(sender, { body: 2 });
  assert.deepEqual([name, error.condition], ['rejected', 'amqp:resource-limit-exceeded']);
}

export async function aMessageTooLargeEndsTheSender(options) {
  const client = await connect(options);
  const sender = await client.sender('orders');
  assert.equal(Number(sender.max_message_size), 100000);
  const gone = next(sender, 'sender_error');
  sender.send({ body: 'x'.repeat(200000) });
  await gone;
  assert.equal(sender.error.condition, 'amqp:link:message-size-exceeded');
  await client.put('orders', 'small');
  assert.deepEqual(await client.seen('orders'), ['small']);
}

export async function aLargeMessageIsIntact(options) {
  const client = await connect({ ...options, max_frame_size: 4096 });
  const body = randomBytes(600000);
  await client.put('orders', { body });
  const [got] = await client.all('orders');
  assert(got.body.equals(body));
}
