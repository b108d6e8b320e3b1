import assert from 'node:assert/strict';
import { AccountPool } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { type DataConnection, ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, type Request } from '../support/raw-http.ts';
import { concurrentTests, suiteScope } from '../support/scope.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nback';

/** A client that reconnects within 10 s loses nothing (protocol.md section 5.3). */
describe('visitors of a client that is briefly disconnected', () => {
  const scope = suiteScope();
  const together = concurrentTests();

  async function start(): Promise<{ relay: Relay; client: ManualClient }> {
    const relay = await Relay.start(scope);
    return { relay, client: await ManualClient.start(scope, relay, new AccountPool(relay)) };
  }

  async function visit(
    relay: Relay,
    client: ManualClient,
    request: Partial<Request> = {},
  ): Promise<RawConnection> {
    const visitor = await RawConnection.open(scope, relay.port, 25_000);
    await visitor.write(formatRequest({ host: client.host, ...request }));
    return visitor;
  }

  together('who arrive while it is away are announced when it is back', async () => {
    const { relay, client } = await start();
    client.control.socket.drop();
    await missed(relay);
    const visitors = [await visit(relay, client), await visit(relay, client, { method: 'POST', body: 'x' })];
    await client.reconnect();
    // The order of the announcements is not guaranteed.
    for (let left = visitors.length; left > 0; left -= 1) {
      const data = await client.accept();
      await data.receivedUpTo('\r\n\r\n');
      data.send(ANSWER);
    }
    for (const visitor of visitors) assert.equal((await visitor.response()).text, 'back');
  });

  together('who were announced on a lost control socket are announced again', async () => {
    const { relay, client } = await start();
    const visitor = await visit(relay, client);
    const id = await client.announced();
    client.control.socket.drop();
    await missed(relay);
    await client.reconnect();
    assert.equal(await client.announced(), id);
    await answer(visitor, await client.open(id));
  });

  together('who were announced are served by a data socket although the control socket is gone', async () => {
    const { relay, client } = await start();
    const visitor = await visit(relay, client);
    const id = await client.announced();
    client.control.socket.drop();
    await missed(relay);
    await answer(visitor, await client.open(id));
  });

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    together(`who arrive at a relay that was restarted after ${signal} wait for its client`, async () => {
      const { relay, client } = await start();
      await relay.stop(signal);
      await relay.restart();
      const visitor = await visit(relay, client);
      await client.reconnect();
      await answer(visitor, await client.accept());
    });
  }

  together(
    'who arrive when control socket and trunks are lost together are served when the client is back',
    async () => {
      const { relay, client } = await start();
      const trunks = [await client.trunk(), await client.trunk()];
      for (const { socket } of trunks) socket.drop();
      client.control.socket.drop();
      const visitors = await Promise.all([1, 2, 3, 4, 5, 6].map(() => visit(relay, client)));
      await missed(relay);
      await client.reconnect();
      for (let left = visitors.length; left > 0; left -= 1) (await client.accept()).send(ANSWER);
      for (const visitor of visitors) assert.equal((await visitor.response()).text, 'back');
    },
  );
});

/** Waits until the relay notices that the client is gone. */
async function missed(relay: Relay): Promise<void> {
  await eventually(20_000, () => assert.match(relay.child.stderr, /client offline/));
}

async function answer(visitor: RawConnection, data: DataConnection): Promise<void> {
  await data.receivedUpTo('\r\n\r\n');
  data.send(ANSWER);
  assert.equal((await visitor.response()).text, 'back');
}
