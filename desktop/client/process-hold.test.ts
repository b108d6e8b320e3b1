import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { systemClock } from './clock.ts';
import { ProcessHold } from './process-hold.ts';

const holding = (name: string): number =>
  process.getActiveResourcesInfo().filter((resource) => resource === name).length;

describe('ProcessHold', () => {
  it('releases the timers that a call creates, now or later, and no others', async () => {
    const hold = new ProcessHold();
    // The runner starts its own timer once this function has returned.
    await turn();
    const before = holding('Timeout');
    const other = systemClock.setTimeout(() => {}, 60_000);
    const timers = await hold.run(async () => {
      const first = systemClock.setTimeout(() => {}, 60_000);
      await Promise.resolve();
      return [first, systemClock.setTimeout(() => {}, 60_000)];
    });
    assert.equal(holding('Timeout'), before + 3);
    hold.release();
    assert.equal(holding('Timeout'), before + 1);
    timers.push(hold.run(() => systemClock.setTimeout(() => {}, 60_000)));
    assert.equal(holding('Timeout'), before + 1);
    timers.push(hold.run(() => ProcessHold.outside(() => systemClock.setTimeout(() => {}, 60_000))));
    assert.equal(holding('Timeout'), before + 2);
    for (const timer of [other, ...timers]) timer.cancel();
  });

  it('releases sockets', async () => {
    const server = createServer((socket) => socket.unref());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    server.unref();
    const before = holding('TCPSocketWrap');
    const hold = new ProcessHold();
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    hold.addSocket(socket);
    await once(socket, 'connect');
    assert.equal(holding('TCPSocketWrap'), before + 1);
    hold.release();
    assert.equal(holding('TCPSocketWrap'), before);
    socket.destroy();
    server.close();
  });
});
