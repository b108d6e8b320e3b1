import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually, within } from '../support/deadline.ts';
import { DataConnection } from '../support/manual-client.ts';
import { formatRequest, RawConnection } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { ControlSocket, openData } from '../support/spec-client/client.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
/** 'half' of 'halfdone' */
const HALF = 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf';
/** the relay that has the client, that of the visitors, and one that the client moves to */
const [OWNER, FORWARDER, OTHER] = [0, 1, 2];

/** ms within which a relay notices that another one hangs: 2 s without an answer, and 8 s without a sign of life */
const NOTICED_MS = 30_000;

type Fate = 'SIGKILL' | 'SIGSTOP';

describe('a visitor who is forwarded', function () {
  this.timeout(600_000);
  const suite = suiteScope();
  const scope = testScope();
  let cluster: RelayCluster;
  let account: TestAccount;
  let tunnel: Tunnel;

  before(async () => {
    cluster = await RelayCluster.start(suite, 3);
  });

  beforeEach(async () => {
    account = await createAccount(cluster.relay(OTHER), { plan: 'team' });
    tunnel = await new Api(cluster.relay(OTHER), account.key).create({ local_port: 9 });
  });

  async function control(relay: number): Promise<ControlSocket> {
    return await ControlSocket.open(scope, cluster.relay(relay), account.key, tunnel.id);
  }

  /** A visitor who has sent a request, to the relay that forwards it. */
  async function visitor(): Promise<RawConnection> {
    const { port } = cluster.relay(FORWARDER);
    const connection = await RawConnection.open(scope, port, 60_000);
    await connection.write(formatRequest({ host: `${tunnel.slug}.localhost:${port}` }));
    return connection;
  }

  /** The data socket of a visitor, who is announced next, once it has received the request. */
  async function accept({ messages }: ControlSocket, at: number, relay: number): Promise<DataConnection> {
    await eventually(20_000, () => assert.ok(messages.length > at));
    const id = messages[at]?.id ?? '';
    const data = new DataConnection(id, await openData(scope, cluster.relay(relay), id));
    await data.receivedUpTo('\r\n\r\n');
    return data;
  }

  /** Ends a relay, which starts again, or goes on, after the test. */
  async function end(relay: number, fate: Fate): Promise<void> {
    const program = cluster.relay(relay);
    if (fate === 'SIGKILL') await program.stop('SIGKILL');
    else process.kill(program.child.pid, 'SIGSTOP');
    scope.defer(async () => {
      if (fate === 'SIGKILL') await program.restart();
      else process.kill(program.child.pid, 'SIGCONT');
    });
  }

  for (const fate of ['SIGKILL', 'SIGSTOP'] as const) {
    it(`gets a response from the client's next relay when the first ends by ${fate}, unless it had begun`, async () => {
      const first = await control(OWNER);
      const begun = await visitor();
      const half = await accept(first, 0, OWNER);
      half.send(HALF);
      const rest = begun.rest(await begun.finalHead()).then(
        () => 'whole',
        () => 'broken',
      );
      const sent = await visitor();
      await accept(first, 1, OWNER);
      const waiting = await visitor();
      await eventually(20_000, () => assert.equal(first.messages.length, 3));

      await end(OWNER, fate);
      const late = await visitor();
      const second = await control(OTHER);
      second.onMessage = ({ id }) => void answer(id);
      for (const connection of [waiting, late, sent])
        assert.equal((await within(NOTICED_MS, 'a response', connection.response())).text, 'ok');
      assert.equal(await within(NOTICED_MS, 'the end', rest), 'broken');
    });

    it(`leaves nothing behind at its client when its own relay ends by ${fate}`, async () => {
      const held = await control(OWNER);
      await visitor();
      const data = await accept(held, 0, OWNER);
      await visitor();
      await eventually(20_000, () => assert.equal(held.messages.length, 2));
      await end(FORWARDER, fate);
      data.send(HALF);
      await within(NOTICED_MS, 'the end of the data socket', data.socket.closed);
      await assert.rejects(openData(scope, cluster.relay(OWNER), held.messages[1]?.id ?? ''), /404/);
    });
  }

  async function answer(id: string): Promise<void> {
    const data = new DataConnection(id, await openData(scope, cluster.relay(OTHER), id));
    await data.receivedUpTo('\r\n\r\n');
    data.send(ANSWER);
  }
});
