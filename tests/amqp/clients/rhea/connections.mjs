// How rhea logs in, stays, and comes back.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import rhea from 'rhea';
import { ask, connect, next, until } from './client.mjs';

async function letsIn(options) {
  const client = await connect(options);
  await client.put('orders', 'hello');
  assert.deepEqual(await client.seen('orders'), ['hello']);
  await client.close();
}

export const aPasswordLogsIn = letsIn;

export async function aWrongPasswordIsRefused(options) {
  await assert.rejects(connect({ ...options, password: 'wrong' }), /[Aa]uthenticat/);
}

export async function nobodyIsRefused({ host, port }) {
  await assert.rejects(connect({ host, port }), /SASL/);
  await assert.rejects(connect({ host, port, username: 'anybody' }), /mechanism/);
}

function overTls({ certificates, ...options }) {
  const ca = [readFileSync(`${certificates}/authority.pem`)];
  return { ...options, transport: 'tls', host: 'localhost', ca };
}

export async function aPasswordOverTls(options) {
  await letsIn(overTls(options));
}

export async function aCertificateLogsIn({ username, password, ...options }) {
  const { certificates } = options;
  await letsIn({
    ...overTls(options),
    enable_sasl_external: true,
    cert: readFileSync(`${certificates}/${username}.pem`),
    key: readFileSync(`${certificates}/${username}.key`),
  });
}

export async function aContainerIdIsHadOnce(options) {
  const alone = {
    ...options, container_id: 'only-one', desired_capabilities: 'sole-connection-for-container',
  };
  const first = await connect(alone);
  await assert.rejects(connect(alone), { condition: 'amqp:invalid-field' });
  await first.close();
  const again = await connect(alone);
  await again.put('orders', 'free again');
}

export async function oneConnectionHasManySessions(options) {
  const { connection } = await connect(options);
  const sent = [...Array(20).keys()].map(async (body) => {
    const session = connection.create_session();
    session.begin();
    const sender = session.open_sender('orders');
    await until(() => sender.credit);
    assert.equal((await ask(sender, { body })).name, 'accepted');
  });
  await Promise.all(sent);
  const client = await connect(options);
  assert.equal((await client.seen('orders')).length, 20);
}

export async function heartbeatsKeepIt(options) {
  const client = await connect({ ...options, idle_time_out: 4000 });
  await new Promise((resolve) => { setTimeout(resolve, 5000); });
  await client.put('orders', 'still here');
}

export async function itConnectsAnew({ ports, ...options }) {
  const container = rhea.create_container();
  container.on('error', () => {});
  const tried = [];
  const connection = container.connect({
    ...options,
    initial_reconnect_delay: 20,
    connection_details: () => {
      const port = ports[tried.length % ports.length];
      tried.push(port);
      return { host: options.host, port, options };
    },
  });
  const sender = connection.open_sender('orders');
  await until(() => sender.credit);
  assert.equal((await ask(sender, { body: 'before' })).name, 'accepted');
  const away = next(connection, 'disconnected');
  const back = next(sender, 'sendable');
  console.log('ready');
  await away;
  await back;
  assert.equal((await ask(sender, { body: 'after' })).name, 'accepted');
  assert(tried.includes(ports[1]));
}
