/** A relay of several processes (docs/decisions/0038-several-processes.md): one port, one database, without Redis. */
import assert from 'node:assert/strict';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { eventually } from '../support/deadline.ts';
import { type Asked, describeFailure, Load, tallyOf } from '../support/load.ts';
import { hostOf } from '../support/manual-client.ts';
import { isWorker, workersOf } from '../support/processes.ts';
import { Culvert, RelayProgram } from '../support/programs.ts';
import { assertBurst, CREATES, untilRefused } from '../support/rate-limit.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';

const WORKERS = 3;
const REQUESTS_PER_SECOND = 100;
const ANSWERED = 300;
const isOk = (): string => 'ok';

function load(relay: RelayProgram, { tunnel }: Culvert): Load {
  return new Load(relay.port, REQUESTS_PER_SECOND, 30, () => ({ host: hostOf(tunnel, relay) }));
}

async function more(visitors: Load): Promise<void> {
  const until = visitors.asked.length + ANSWERED;
  await eventually(60_000, () => assert.ok(visitors.asked.length >= until));
}

function failuresOf(visitors: Load): readonly Asked[] {
  return tallyOf(visitors.asked, isOk).failed;
}

describe('a relay of three processes', () => {
  const suite = suiteScope();
  const scope = testScope();
  let service: HttpService;

  before(async () => {
    service = await startHttpService(suite, (_request, response) => response.end('ok'));
  });

  async function start(workers = WORKERS, settings = {}): Promise<RelayProgram> {
    return await RelayProgram.start(scope, { CULVERT_WORKERS: String(workers), ...settings });
  }

  it('creates at any of them what all serve, and counts creates together', async () => {
    const relay = await start();
    const account: TestAccount = await createAccount(relay);
    const create = () => account.api.send('POST', '/v1/tunnels', { json: { local_port: service.port } });
    assertBurst(await untilRefused(async () => (await create()).status === 201), CREATES);
    const ids = (await account.api.list()).map(({ id }) => id);
    for (let time = 0; time < 2 * WORKERS; time += 1)
      assert.deepEqual(
        (await account.api.list()).map(({ id }) => id),
        ids,
      );
  });

  it('replaces each of them that is killed, whose connections alone end', async () => {
    const relay = await start();
    const culvert = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
    const visitors = load(relay, culvert);
    await more(visitors);
    for (const pid of workersOf(relay.child.pid)) {
      const killedAt = performance.now();
      process.kill(pid, 'SIGKILL');
      await eventually(20_000, () => {
        assert.equal(isWorker(pid), false);
        assert.equal(workersOf(relay.child.pid).length, WORKERS);
      });
      const goneAt = performance.now();
      await more(visitors);
      const later = failuresOf(visitors).filter(({ at }) => at > goneAt);
      assert.deepEqual(
        later.map((asked) => describeFailure(asked, killedAt)),
        [],
      );
    }
    await visitors.stop();
    assert.equal((await new Api(relay, relay.bootstrapKey).list()).length, 1);
  });

  it('replaces one that hangs, while the others serve', async () => {
    const relay = await start();
    const [hung] = workersOf(relay.child.pid);
    assert.ok(hung !== undefined);
    process.kill(hung, 'SIGSTOP');
    scope.defer(() => isWorker(hung) && process.kill(hung, 'SIGKILL'));
    await createAccount(relay);
    await eventually(60_000, () => {
      assert.equal(isWorker(hung), false);
      assert.equal(workersOf(relay.child.pid).length, WORKERS);
    });
    assert.match(relay.child.stderr, new RegExp(`"pid":${hung},"msg":"worker hung"`));
    await createAccount(relay);
  });

  it('ends with its first process, however that ends, and leaves the port free', async () => {
    const relay = await start();
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const workers = workersOf(relay.child.pid);
      assert.equal(workers.length, WORKERS);
      await relay.stop(signal);
      await eventually(10_000, () =>
        assert.deepEqual(
          workers.filter((pid) => isWorker(pid)),
          [],
        ),
      );
      await relay.restart();
    }
    await createAccount(relay);
  });

  it('stops in order while one of its processes is being replaced', async () => {
    const relay = await start();
    const signals = ['SIGTERM', 'SIGINT'] as const;
    for (const [index, signal] of [...signals, ...signals].entries()) {
      const before = workersOf(relay.child.pid);
      const [victim = assert.fail()] = before;
      process.kill(victim, 'SIGKILL');
      const hasNext = (): boolean => workersOf(relay.child.pid).some((pid) => !before.includes(pid));
      await eventually(20_000, () => assert.ok(index < signals.length ? !isWorker(victim) : hasNext()));
      const workers = workersOf(relay.child.pid);
      assert.deepEqual(await relay.stop(signal), { code: 0, signal: null });
      assert.deepEqual(workers.filter(isWorker), []);
      await relay.restart();
    }
  });

  it('is replaced without a loss, by one process and by several', async () => {
    const relay = await start(1);
    const culvert = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
    const visitors = load(relay, culvert);
    await more(visitors);
    for (const workers of [3, 2, 1]) {
      const before = await relay.replace({ CULVERT_WORKERS: String(workers) });
      assert.deepEqual(await before.exit(60_000), { code: 0, signal: null });
      await more(visitors);
    }
    await visitors.stop();
    assert.deepEqual(
      failuresOf(visitors).map((asked) => describeFailure(asked, 0)),
      [],
    );
  });

  it('sums what its processes count in the metrics', async () => {
    const relay = await start(WORKERS, { CULVERT_METRICS_PORT: '0' });
    const culvert = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
    for (let time = 0; time < 20; time += 1)
      assert.equal((await visit(relay.port, { host: hostOf(culvert.tunnel, relay) })).status, 200);
    const { url } = relay.child.stderr
      .split('\n')
      .filter((line) => line.includes('"metrics listening"'))
      .map((line) => JSON.parse(line) as { readonly url: string })[0] ?? { url: '' };
    await eventually(20_000, async () => {
      const text = await (await fetch(url)).text();
      assert.match(text, /^culvert_requests_total\{to="tunnel",outcome="answered"\} 20$/m);
      assert.match(text, /^culvert_tunnels_online 1$/m);
      assert.match(text, /^culvert_build_info\{.*\} 1$/m);
    });
  });
});
