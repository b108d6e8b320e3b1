import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { mock } from 'node:test';
import { FakeSocket, settled } from '../../testing/fake-socket.ts';
import { HopCarrier } from './hop-carrier.ts';
import { HopConnection } from './hop-connection.ts';

const END = '\0\0\0\0';
const NOBODY = { onPiece() {}, onEnd() {}, onDrain() {}, onClose() {} };

describe('HopCarrier', () => {
  let client: FakeSocket;
  let relay: FakeSocket;
  let connection: HopConnection;
  let events: string[];

  beforeEach(() => {
    client = new FakeSocket();
    relay = new FakeSocket();
    events = [];
    connection = new HopConnection(relay as unknown as Socket, NOBODY);
    connection.handler = new HopCarrier(client, connection, {
      free: () => events.push('free'),
      done: () => events.push('done'),
    });
  });

  it('passes bytes on in both directions', async () => {
    client.push('to the relay');
    relay.push('\0\0\0\rto the client');
    await settled();
    assert.deepEqual([relay.text, client.text], ['\0\0\0\fto the relay', 'to the client']);
  });

  it('goes on reading while the system takes large chunks at once, and stops while it does not', async () => {
    for (const [from, to] of [
      [client, relay],
      [relay, client],
    ] as const) {
      from.push('\0\0\0\u0010more than its mark');
      await settled();
      assert.equal(from.isPaused(), false);
      to.isFast = false;
      from.push('\0\0\0\u0010');
      from.push('once more of them');
      await settled();
      assert.equal(from.isPaused(), true);
      to.release();
      await settled();
      assert.equal(from.isPaused(), false);
    }
  });

  it('passes on the end of the client, which still gets the response', async () => {
    client.push(null);
    await settled();
    assert.equal(relay.text, END);
    relay.push(`\0\0\0\na response${END}`);
    await settled();
    assert.deepEqual([client.text, relay.text], ['a response', END]);
    assert.deepEqual([client.destroyed, relay.destroyed, events], [true, false, ['free', 'done']]);
  });

  it('ends the client with the data socket, once it has taken everything; the connection is free at once', async () => {
    client.isFast = false;
    relay.push(`\0\0\0\u000ethe last words${END}`);
    await settled();
    assert.deepEqual([client.destroyed, relay.text, events], [false, '', ['free']]);
    connection.send([Buffer.from('the next')]);
    await settled();
    assert.equal(relay.text, `${END}\0\0\0\bthe next`);
    client.release();
    await settled();
    assert.deepEqual([client.text, client.destroyed, events], ['the last words', true, ['free', 'done']]);
  });

  it('gives up a client that takes nothing for 60 s when the data socket has ended', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      client.isFast = false;
      relay.push(`\0\0\0\u000ethe last words${END}`);
      await settled();
      mock.timers.tick(59_999);
      assert.equal(client.destroyed, false);
      mock.timers.tick(1);
      assert.equal(client.destroyed, true);
    } finally {
      mock.timers.reset();
    }
  });

  it('drops a client that has ended before the relay has finished', async () => {
    client.push(null);
    await settled();
    client.destroy();
    relay.push('\0\0\0\u0007nothing');
    relay.push(END);
    await settled();
    assert.deepEqual([relay.destroyed, events], [false, ['free', 'done']]);
  });

  for (const [name, cut] of [
    ['the client', () => client.destroy(new Error('reset'))],
    ['the relay', () => relay.destroy(new Error('reset'))],
  ] as const) {
    it(`breaks both when ${name} breaks, once`, async () => {
      cut();
      await settled();
      assert.deepEqual([client.destroyed, relay.destroyed, events], [true, true, ['done']]);
    });
  }
});
