import assert from 'node:assert/strict';
import { AccountPool } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { type DataConnection, ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, type Request } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { concurrentTests } from '../support/scope.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nback';

/** A client that reconnects within 10 s loses nothing (protocol.md section 5.3). */
describe('visitors of a client that is briefly disconnected', () => {
  const { scope, relay, pool } = relaySuite();
  const together = concurrentTests();

  const start = (): Promise<ManualClient> => ManualClient.start(scope, relay, pool);

  async function visit(
    client: ManualClient,
    request: Partial<Request> = {},
    { port }: Relay = relay,
  ): Promise<RawConnection> {
    const visitor = await RawConnection.open(scope, port, 25_000);
    await visitor.write(formatRequest({ host: client.host, ...request }));
    return visitor;
  }

  together('who arrive while it is away are announced when it is back', async () => {
    const client = await start();
    client.control.socket.drop();
    await missed(relay, client);
    const visitors = [await visit(client), await visit(client, { method: 'POST', body: 'x' })];
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
    const client = await start();
    const visitor = await visit(client);
    await client.announced();
    client.control.socket.drop();
    await missed(relay, client);
    await client.reconnect();
    await answer(visitor, await client.accept());
  });

  together('who were announced are served by a data socket although the control socket is gone', async () => {
    const client = await start();
    const visitor = await visit(client);
    const id = await client.announced();
    client.control.socket.drop();
    await missed(relay, client);
    await answer(visitor, await client.open(id));
  });

  together('who arrive at a relay that was restarted, in whatever way, wait for its client', async () => {
    const own = await Relay.start(scope);
    const client = await ManualClient.start(scope, own, new AccountPool(own));
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      await own.stop(signal);
      await own.restart();
      const visitor = await visit(client, {}, own);
      await client.reconnect();
      await answer(visitor, await client.accept());
    }
  });

  together(
    'who arrive when control socket and trunks are lost together are served when the client is back',
    async () => {
      const client = await start();
      const trunks = [await client.trunk(), await client.trunk()];
      for (const { socket } of trunks) socket.drop();
      client.control.socket.drop();
      const visitors = await Promise.all([1, 2, 3, 4, 5, 6].map(() => visit(client)));
      await missed(relay, client);
      await client.reconnect();
      for (let left = visitors.length; left > 0; left -= 1) (await client.accept()).send(ANSWER);
      for (const visitor of visitors) assert.equal((await visitor.response()).text, 'back');
    },
  );
});

/** Waits until the relay notices that the client is gone. */
async function missed(relay: Relay, { tunnel }: ManualClient): Promise<void> {
  await eventually(20_000, () => {
    const lines = relay.child.stderr.split('\n');
    assert.ok(lines.some((line) => line.includes('"client offline"') && line.includes(tunnel.id)));
  });
}

async function answer(visitor: RawConnection, data: DataConnection): Promise<void> {
  await data.receivedUpTo('\r\n\r\n');
  data.send(ANSWER);
  assert.equal((await visitor.response()).text, 'back');
}
