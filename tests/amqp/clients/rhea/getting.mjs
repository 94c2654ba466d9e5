// How rhea gets, what it says of it, and what becomes of that.

import assert from 'node:assert/strict';
import { close, connect, filter, next, until } from './client.mjs';

/** One message is put, got, and this is said of it. */
async function said(options, say) {
  const client = await connect(options);
  await client.put('orders', 'it');
  const inbox = await client.receiver('orders');
  const { delivery } = await inbox.one();
  say(delivery);
  return { client, inbox };
}

/** How often it was backed out, as the next consumer is told. */
async function again({ client, inbox }) {
  await close(inbox.receiver, 'receiver');
  const other = await client.receiver('orders');
  const { message } = await other.one();
  assert.equal(message.body, 'it');
  return message.delivery_count || 0;
}

export async function acceptedIsGone(options) {
  const { client } = await said(options, (one) => one.accept());
  assert.deepEqual(await client.seen('orders'), []);
}

export async function releasedIsNotCounted(options) {
  assert.equal(await again(await said(options, (one) => one.release())), 0);
}

export async function modifiedIsNotCounted(options) {
  const state = { delivery_failed: false };
  assert.equal(await again(await said(options, (one) => one.modified(state))), 0);
}

export async function modifiedAsFailedIsCounted(options) {
  const state = { delivery_failed: true };
  assert.equal(await again(await said(options, (one) => one.modified(state))), 1);
}

export async function rejectedIsADeadLetter(options) {
  const error = { condition: 'shop:no-apples', description: 'There are no apples.' };
  const { client } = await said(options, (one) => one.reject(error));
  const inbox = await client.receiver('DLQ');
  const { message } = await inbox.one();
  assert.equal(message.body, 'it');
  assert.equal(message.message_annotations['x-opt-death-reason'], 'REJECTED');
  assert.equal(message.message_annotations['x-opt-death-queue'], 'orders');
}

export async function bothCountAndGoToAnother(options) {
  const state = { delivery_failed: true, undeliverable_here: true };
  const { client, inbox } = await said(options, (one) => one.modified(state));
  assert.deepEqual(await inbox.drain(), []);
  const { message } = await (await client.receiver('orders')).one();
  assert.deepEqual([message.body, message.delivery_count], ['it', 1]);
}

export async function undeliverableGoesToAnother(options) {
  const state = { undeliverable_here: true };
  const { client, inbox } = await said(options, (one) => one.modified(state));
  assert.deepEqual(await inbox.drain(), []);
  const other = await client.receiver('orders');
  assert.equal((await other.one()).message.body, 'it');
}

export async function theConsumerChoosesWhen(options) {
  const state = {
    delivery_failed: true, message_annotations: { 'x-opt-delivery-time': Date.now() + 700 },
  };
  const begun = Date.now();
  const { inbox } = await said(options, (one) => one.modified(state));
  assert.deepEqual(await inbox.drain(), []);
  const { message } = await inbox.one();
  assert.equal(message.delivery_count, 1);
  assert(Date.now() - begun >= 500);
}

export async function settlingSecondIsTolerated(options) {
  const client = await connect(options);
  await client.put('orders', 'it');
  const inbox = await client.receiver('orders', { rcv_settle_mode: 1 });
  const { delivery } = await inbox.one();
  const settled = next(inbox.receiver, 'settled');
  delivery.accept();
  await settled;
  await close(inbox.receiver, 'receiver');
  assert.deepEqual(await client.seen('orders'), []);
}

export async function aSettledReceiverGetsAtMostOnce(options) {
  const client = await connect(options);
  await client.put('orders', 1, 2, 3);
  const inbox = await client.receiver('orders', { snd_settle_mode: 1 });
  const got = [await inbox.one(), await inbox.one()];
  assert(got.every(({ delivery }) => delivery.remote_settled));
  await close(inbox.receiver, 'receiver');
  assert.deepEqual(await client.seen('orders'), [3]);
}

export async function browsingLeavesMessages(options) {
  const client = await connect(options);
  const messages = [1, 2, 3, 4].map((n) => ({ body: n, application_properties: { n } }));
  await client.put('orders', ...messages);
  assert.deepEqual(await client.seen('orders'), [1, 2, 3, 4]);
  const some = { filter: filter.selector('n > 2') };
  assert.deepEqual(await client.seen('orders', some), [3, 4]);
  assert.equal((await client.all('orders')).length, 4);
}

export async function selectorsChoose(options) {
  const client = await connect(options);
  await client.put(
    'orders',
    { body: 0, application_properties: { color: 'red' } },
    { body: 1, application_properties: { color: 'blue', size: 5 } },
    { body: 2, application_properties: { size: 8 }, priority: 7 },
  );
  const wanted = {
    "color = 'red'": [0], "color <> 'red'": [1], "color LIKE '%e' OR size > 7": [1, 2],
    "color IN ('red', 'blue')": [0, 1], 'size BETWEEN 2 AND 8': [1, 2],
    'size IS NULL': [0], 'NOT (size > 5)': [1], 'JMSPriority > 4': [2],
  };
  for (const [selector, bodies] of Object.entries(wanted)) {
    const seen = await client.seen('orders', { filter: filter.selector(selector) });
    assert.deepEqual(seen.sort(), bodies, selector);
  }
  const chosen = await client.all({ address: 'orders', filter: filter.selector('size = 5') });
  assert.deepEqual(chosen.map((one) => one.body), [1]);
}

export async function aSelectorIsEchoed(options) {
  const client = await connect(options);
  const good = { address: 'orders', filter: filter.selector("color = 'red'") };
  const { receiver } = await client.receiver(good);
  assert.deepEqual(Object.keys(receiver.source.filter), ['jms-selector']);
  const bad = { address: 'orders', filter: filter.selector('color =') };
  assert.equal(await client.refused('receiver', bad), 'amqp:invalid-field');
  await client.put('orders', 'still here');
}

export async function creditIsRespected(options) {
  const client = await connect(options);
  await client.put('orders', 0, 1, 2, 3, 4, 5);
  const inbox = await client.receiver('orders');
  inbox.receiver.add_credit(2);
  assert.equal((await inbox.get()).message.body, 0);
  assert.equal((await inbox.get()).message.body, 1);
  const other = await client.receiver('orders');
  const rest = await other.drain();
  assert.deepEqual(rest.map(({ message }) => message.body), [2, 3, 4, 5]);
  assert.equal(inbox.came.length, 0);
}

export async function drainingEnds(options) {
  const client = await connect(options);
  const inbox = await client.receiver('orders');
  assert.deepEqual(await inbox.drain(), []);
  await client.put('orders', 'later');
  assert.equal((await inbox.drain()).length, 1);
}

export async function closingGivesBack(options) {
  const client = await connect(options);
  await client.put('orders', 0, 1, 2, 3, 4);
  const inbox = await client.receiver('orders');
  inbox.receiver.add_credit(3);
  await until(() => inbox.came.length === 3);
  await close(inbox.receiver, 'receiver');
  const other = await client.receiver('orders');
  other.receiver.add_credit(5);
  await until(() => other.came.length === 5);
  const got = other.came.map(({ message }) => [message.body, message.delivery_count || 0]);
  assert.deepEqual(got, [
    [0, 0], [1, 0], [2, 0], [3, 0], [4, 0],
  ]);
}

export async function losingGivesBack(options) {
  const lost = await connect(options);
  await lost.put('orders', 0, 1, 2, 3);
  const inbox = await lost.receiver('orders');
  inbox.receiver.add_credit(3);
  await until(() => inbox.came.length === 3);
  lost.drop();
  const client = await connect(options);
  const other = await client.receiver('orders');
  other.receiver.add_credit(4);
  await until(() => other.came.length === 4);
  const bodies = other.came.map(({ message }) => message.body);
  assert.deepEqual(bodies.sort(), [0, 1, 2, 3]);
}

export async function requestAndReply(options) {
  const asks = await connect(options);
  const answers = await connect(options);
  const replies = await asks.receiver({ address: null, dynamic: true });
  const name = replies.receiver.source.address;
  await asks.put('orders', { body: 'question', reply_to: name, correlation_id: 'c' });
  const request = await (await answers.receiver('orders')).one();
  request.delivery.accept();
  await answers.put(request.message.reply_to, { body: 'answer', correlation_id: 'c' });
  const { message } = await replies.one();
  assert.deepEqual([message.body, message.correlation_id], ['answer', 'c']);
  assert.equal(await answers.refused('receiver', name), 'amqp:not-allowed');
}

const topic = { address: 'news', capabilities: ['topic'] };
const kept = { ...topic, durable: 2, expiry_policy: 'never' };

export async function eachSubscriberHasACopy(options) {
  const client = await connect(options);
  const both = [await client.receiver(topic), await client.receiver(topic)];
  await client.put('news', 'hello');
  for (const one of both) assert.equal((await one.one()).message.body, 'hello');
}

export async function aDurableSubscriptionIsKept(options) {
  const me = { ...options, container_id: 'me' };
  let client = await connect(me);
  const { receiver } = await client.receiver(kept, { name: 'sub' });
  receiver.detach();
  await next(receiver, 'receiver_close');
  await client.close();
  await (await connect(options)).put('news', 'while away');
  client = await connect(me);
  const inbox = await client.receiver(kept, { name: 'sub' });
  const { message, delivery } = await inbox.one();
  assert.equal(message.body, 'while away');
  delivery.accept();
  inbox.receiver.detach();
  await next(inbox.receiver, 'receiver_close');
  // As JMS unsubscribes: without a source, and closing.
  const found = await client.receiver(undefined, { name: 'sub' });
  assert.equal(found.receiver.source.address, 'news');
  await close(found.receiver, 'receiver');
  let gone;
  await until(() => {
    gone ||= client.refused('receiver', undefined, { name: 'sub' });
    return gone;
  });
  assert.equal(await gone, 'amqp:not-found');
}

export async function aSharedSubscriptionShares(options) {
  const client = await connect({ ...options, container_id: 'me' });
  const shared = { ...kept, capabilities: ['topic', 'shared'] };
  const both = [
    await client.receiver(shared, { name: 'sub|1' }),
    await client.receiver(shared, { name: 'sub|2' }),
  ];
  both.forEach(({ receiver }) => receiver.add_credit(2));
  await client.put('news', 1, 2, 3, 4);
  await until(() => both.every(({ came }) => came.length === 2));
  const bodies = both.flatMap(({ came }) => came.map(({ message }) => message.body));
  assert.deepEqual(bodies.sort(), [1, 2, 3, 4]);
}
