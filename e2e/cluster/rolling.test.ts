import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { Load } from '../support/load.ts';
import { startBalancer } from '../support/native-server.ts';
import { Culvert } from '../support/programs.ts';
import type { Request } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';
import { describeFailure, tallyOf } from '../support/tally.ts';

const REQUESTS_PER_SECOND = 300;
const VISITORS = 60;
const BODY = 'x'.repeat(20_000);
/** Accounts that create tunnels meanwhile, each within its limit of 5 at once. */
const CREATORS = 3;

function answerTo({ method = 'GET', target = '/', body = '' }: Request): string {
  return `${method} ${target} ${body.length}`;
}

/** Makes tunnels through the balancer until it is told to stop. */
class Creator {
  readonly made: Tunnel[] = [];
  readonly #apis: readonly Api[];
  readonly #work: Promise<void>;
  #over = false;

  constructor(apis: readonly Api[]) {
    this.#apis = apis;
    this.#work = this.#create();
    this.#work.catch(() => undefined);
  }

  /** @throws Error when a create was not acknowledged */
  async stop(): Promise<readonly Tunnel[]> {
    this.#over = true;
    await this.#work;
    return this.made;
  }

  async #create(): Promise<void> {
    for (let turn = 0; !this.#over && turn < CREATORS * 5; turn += 1) {
      const api = this.#apis[turn % CREATORS];
      if (api !== undefined) this.made.push(await api.create({ local_port: 9 }));
      await delay(800);
    }
  }
}

/** A deployment, as an operator does it: one relay after the other, each when the one before is back. */
describe('a rolling restart of three relays behind nginx', function () {
  this.timeout(180_000);
  const scope = suiteScope();

  it(`under ${REQUESTS_PER_SECOND} requests/s: none fails, no tunnel is lost, and the client stays online`, async () => {
    const port = await closedPort();
    const url = `http://localhost:${port}`;
    const cluster = await RelayCluster.start(scope, 3, {
      CULVERT_PUBLIC_URL: url,
      CULVERT_TRUST_PROXY: '127.0.0.1',
    });
    await startBalancer(
      scope,
      port,
      cluster.relays.map((relay) => relay.port),
    );
    const service = await startHttpService(scope, (request, response) => {
      let length = 0;
      request.on('data', (chunk: Buffer) => (length += chunk.length));
      request.on('end', () => response.end(`${request.method} ${request.url} ${length}`));
    });
    const culvert = await Culvert.start(scope, { url }, cluster.key, service.port);
    const accounts = await Promise.all(
      Array.from({ length: CREATORS }, () => createAccount(cluster.relay(0), { plan: 'team' })),
    );

    const host = `${culvert.tunnel.slug}.localhost:${port}`;
    let next = 0;
    const load = new Load(port, REQUESTS_PER_SECOND, VISITORS, (): Request => {
      next += 1;
      return next % 4 === 0
        ? { host, method: 'POST', target: `/${next}`, body: next % 8 === 0 ? BODY : 'x' }
        : { host, target: `/${next}` };
    });
    const creator = new Creator(accounts.map(({ key }) => new Api({ port }, key)));
    await delay(1000);
    const begin = performance.now();
    const took: number[] = [];
    for (const relay of cluster.relays) {
      const stopping = performance.now();
      assert.deepEqual(await relay.stop('SIGTERM', 35_000), { code: 0, signal: null });
      took.push(Math.round(performance.now() - stopping));
      await relay.restart();
      await delay(500);
    }
    await delay(1000);
    const seconds = (performance.now() - begin) / 1000;
    await load.stop();
    const made = await creator.stop();

    const { sent, good, failed } = tallyOf(load.asked, answerTo);
    console.log(
      `      ${sent} requests in ${seconds.toFixed(1)} s, ${good} answered right, ${failed.length} failed; ` +
        `relays took ${took.join(', ')} ms to end; ${made.length} tunnels made meanwhile`,
    );
    assert.deepEqual(
      failed.map((asked) => describeFailure(asked, begin)),
      [],
    );
    // A busy machine gets less done.
    assert.ok(sent > seconds * 50, `only ${sent} requests in ${seconds} s`);
    assert.ok(made.length >= 5, `only ${made.length} tunnels were made`);
    for (const relay of cluster.relays) {
      const lists = await Promise.all(accounts.map(({ key }) => new Api(relay, key).list()));
      const found = new Set(lists.flat().map(({ id }) => id));
      assert.deepEqual(
        made.filter(({ id }) => !found.has(id)),
        [],
      );
    }
    const events = culvert.child.lines.map((line) => (JSON.parse(line) as { readonly event: string }).event);
    assert.deepEqual(
      events.filter((event) => event !== 'problem'),
      ['online'],
    );
    assert.deepEqual(
      took.filter((ms) => ms > 15_000),
      [],
    );
  });
});
