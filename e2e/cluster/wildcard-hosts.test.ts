import assert from 'node:assert/strict';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

const A = 0;
const B = 1;
const C = 2;
const ALL = [A, B, C];
/** ms within which all relays know of a change: normally a second, but longer on a busy machine. */
const KNOWN_MS = 30_000;

describe('hosts of wildcard tunnels on three relays', () => {
  const suite = suiteScope();
  const scope = testScope();
  let cluster: RelayCluster;
  let account: TestAccount;
  let names = 0;
  /** different for each test */
  let name: string;

  before(async () => {
    cluster = await RelayCluster.shared();
  });

  beforeEach(async () => {
    names += 1;
    name = `shop${names}`;
    account = await createAccount(cluster.relay(A), { plan: 'team' });
  });

  function apiOf(index: number, { key } = account): Api {
    return new Api(cluster.relay(index), key);
  }

  /** Serves a tunnel at a relay. @returns what its service responds with */
  async function serve(index: number, fields: object): Promise<string> {
    const text = JSON.stringify(fields);
    const { port } = await startHttpService(suite, (_request, response) => response.end(text));
    await SpecClient.start(scope, cluster.relay(index), account.key, { local_port: port, ...fields });
    return text;
  }

  async function at(index: number, label: string): Promise<string> {
    const { head, text } = await visit(cluster.relay(index).port, { host: `${label}.localhost` });
    return head.field('culvert-error') ?? text;
  }

  /** Waits until every relay responds for a host with `expected`, from a relay or a service. */
  async function serves(label: string, expected: string): Promise<void> {
    for (const index of ALL)
      await eventually(KNOWN_MS, async () =>
        assert.equal(await at(index, label), expected, `relay ${index}`),
      );
  }

  it('reach the tunnel from each of them, also one that did not know it', async () => {
    for (const index of ALL) assert.equal(await at(index, `a--${name}`), 'tunnel-unknown');
    const text = await serve(B, { name, wildcard: true });
    for (const label of [`a--${name}`, `b--a--${name}`, name]) await serves(label, text);
  });

  it('give way to a tunnel with that name, and to a longer one, wherever it is created', async () => {
    const wild = await serve(A, { name, wildcard: true });
    await serves(`a--${name}`, wild);
    await serves(`x--a--${name}`, wild);
    const exact = await serve(C, { name: `a--${name}` });
    await serves(`a--${name}`, exact);
    await serves(`x--a--${name}`, wild);
    const longer = await serve(B, { name: `b--${name}`, wildcard: true });
    await serves(`x--b--${name}`, longer);
    await serves(`x--a--${name}`, wild);
    const tunnels = await apiOf(A).list();
    const found = tunnels.find((tunnel) => tunnel.name === `a--${name}`);
    await apiOf(A).close(found?.id ?? '');
    await serves(`a--${name}`, wild);
  });

  it('follow a takeover at another relay, with `wildcard` or without', async () => {
    const text = await serve(A, { name });
    await serves(`a--${name}`, 'tunnel-unknown');
    const { local_port } = (await apiOf(B).list())[0] ?? { local_port: 0 };
    const again = { local_port, name, take_over: true };
    await apiOf(B).send('POST', '/v1/tunnels', { json: { ...again, wildcard: true } });
    await serves(`a--${name}`, text);
    await apiOf(C).send('POST', '/v1/tunnels', { json: again });
    await serves(`a--${name}`, 'tunnel-unknown');
  });

  it('have one owner, even if 20 requests for them arrive at the same time', async () => {
    const accounts = await Promise.all(
      Array.from({ length: 20 }, () => createAccount(cluster.relay(A), { plan: 'team' })),
    );
    for (let race = 0; race < 5; race += 1) {
      const label = `race${race}-${name}`;
      const answers = await Promise.all(
        accounts.map((one, index) => {
          const wanted = index % 2 === 0 ? { name: label, wildcard: true } : { name: `x${index}--${label}` };
          return apiOf(index % 3, one).send('POST', '/v1/tunnels', { json: { local_port: 9, ...wanted } });
        }),
      );
      const created = answers.flatMap(({ status }, index) => (status === 201 ? [index % 2] : []));
      for (const { status, json } of answers)
        assert.ok(status === 201 || status === 409, JSON.stringify(json));
      const wildcards = created.filter((kind) => kind === 0).length;
      assert.ok(created.length > 0 && (wildcards === 0 || created.length === 1), String(created));
    }
  });
});
