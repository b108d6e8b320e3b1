import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { ask, cookieOf, knock, KnockOwner, type Place } from '../support/approvals.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { type Field, formatRequest, RawConnection } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';

const A = 0;
const B = 1;
const C = 2;
/** Long before a relay would respond on its own (protocol.md section 11.3), and enough for a busy machine. */
const SOON_MS = 15_000;

describe('an approval request on three relays (protocol.md section 11.3)', () => {
  const suite = suiteScope();
  const scope = testScope();
  let cluster: RelayCluster;
  let account: TestAccount;
  let tunnel: Tunnel;
  /** with a control socket on B; answers on C */
  let owner: KnockOwner;

  before(async () => {
    cluster = await RelayCluster.start(suite, 3);
  });

  beforeEach(async () => {
    account = await createAccount(cluster.relay(A), { plan: 'team' });
    const service = await startHttpService(scope, (request, response) => {
      if (request.url === '/events')
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
      else response.end(request.headers['culvert-visitor'] ?? 'anybody');
    });
    const request = { local_port: service.port, access: { knock: true } };
    tunnel = await new Api(cluster.relay(A), account.key).create(request);
    owner = await KnockOwner.open(scope, cluster.relay(B), account.key, tunnel.id, cluster.relay(C));
    owner.serve(scope, cluster.relay(B), service.port);
  });

  function place(index: number): Place {
    const { port } = cluster.relay(index);
    return { port, host: `${tunnel.slug}.localhost:${port}` };
  }

  /** Waits until a relay that knows the tunnel accepts approval requests for it. */
  async function mustKnock(index: number): Promise<Field> {
    await ask(place(index));
    const response = await knock(place(index));
    assert.equal(response.status, 202, response.text);
    return cookieOf(response);
  }

  it('is reported on another relay, answered on the third, and the visitor continues immediately', async () => {
    const cookie = await mustKnock(A);
    const { id } = await owner.hears();
    const second = await mustKnock(A);
    const begin = performance.now();
    const heard = await owner.hears(1);
    assert.ok(performance.now() - begin < SOON_MS);
    const held = ask(place(A), { path: '/?culvert_gate=wait', headers: [cookie] });
    const answered = performance.now();
    await owner.answer(id, true);
    assert.equal((await held).status, 303);
    assert.ok(performance.now() - answered < SOON_MS);
    for (const index of [A, B, C])
      await eventually(SOON_MS, async () =>
        assert.notEqual((await ask(place(index), { headers: [cookie] })).status, 401),
      );
    assert.equal((await ask(place(A), { headers: [second] })).status, 401);
    assert.equal((await owner.answer(heard.id, false)).status, 'refused');
  });

  it('can be revoked on one relay, which cuts event streams on all of them', async () => {
    const cookie = await mustKnock(A);
    const [{ id } = assert.fail()] = await owner.list();
    await owner.answer(id, true);
    const streams: RawConnection[] = [];
    for (const index of [A, B, C]) {
      await eventually(20_000, async () =>
        assert.equal((await ask(place(index), { headers: [cookie] })).text, 'knock'),
      );
      const stream = await RawConnection.open(scope, place(index).port, 60_000);
      await stream.write(formatRequest({ host: place(index).host, target: '/events', headers: [cookie] }));
      assert.equal((await stream.finalHead()).status, 200);
      streams.push(stream);
    }
    await owner.answer(id, false);
    await Promise.all(streams.map(({ ending }) => ending));
    for (const index of [A, B, C]) assert.equal((await ask(place(index), { headers: [cookie] })).status, 401);
  });

  it('keeps waiting when the relay that received it is restarted', async () => {
    const cookie = await mustKnock(A);
    const { id } = await owner.hears();
    await cluster.relay(A).stop();
    await cluster.relay(A).restart();
    const waiting = await ask(place(A), { headers: [cookie] });
    assert.equal((JSON.parse(waiting.text) as { knock: string }).knock, 'waiting');
    const held = ask(place(A), { path: '/?culvert_gate=wait', headers: [cookie] });
    await owner.answer(id, false);
    assert.equal((await held).status, 401);
  });
});
