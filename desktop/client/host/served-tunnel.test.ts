import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { TUNNEL } from '../../testing/fake-platform.ts';
import { fakeServed } from '../../testing/served.ts';
import { closeServers, startHttp } from '../../testing/servers.ts';
import { SPEC } from '../../testing/tunnel-spec.ts';
import type { TunnelTarget } from '../config/tunnel-spec.ts';
import { ReplayRefused } from '../inspector/replay.ts';
import { LogSearch } from '../inspector/search.ts';
import { localPort } from '../local/local-service.ts';
import { textOf } from '../messages.ts';
import type { ServedTunnel } from './served-tunnel.ts';

const GET = Buffer.from('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');

function to(target: TunnelTarget) {
  return fakeServed({ settings: { ...SPEC, target } });
}

/** Records a request and, if there is one, its response. */
function record({ log }: ServedTunnel, status?: number): void {
  const recording = log.open();
  recording.toLocal(GET);
  if (status !== undefined)
    recording.toVisitor(Buffer.from(`HTTP/1.1 ${status} -\r\nContent-Length: 0\r\n\r\n`));
  recording.end(false);
}

/** Waits for what the system does in between. */
async function until<T>(value: () => T | undefined): Promise<T> {
  for (;;) {
    const now = value();
    if (now !== undefined) return now;
    await turn();
  }
}

describe('ServedTunnel', () => {
  afterEach(closeServers);

  it('follows its client, and hears no more of one that it has stopped', () => {
    const { served, serve, connection, clock } = fakeServed();
    const heard: string[] = [];
    served.listen({
      onState: ({ name }) => heard.push(name),
      onLost: (reason) => heard.push(`lost: ${reason}`),
    });
    served.serve(connection);
    const first = serve.last;
    first.onState({ name: 'online' });
    first.onState({ name: 'reconnecting', attempt: 1, retryInMs: 500, why: 'Lost.' });
    const { state } = served;
    assert.equal(state.name === 'reconnecting' && state.retryAt, clock.now() + 500);
    served.serve(connection);
    first.onState({ name: 'online' });
    first.onProblem({ code: 'local-refused', text: 'Nothing answers.' });
    assert.deepEqual(
      [served.state.name, served.localProblem, first.isStopped],
      ['connecting', undefined, true],
    );
    serve.last.onState({ name: 'offline', reason: 'closed', why: 'It was closed.' });
    served.end('stopped', 'It was stopped.');
    assert.deepEqual(heard, [
      'connecting',
      'online',
      'reconnecting',
      'connecting',
      'ended',
      'lost: closed',
      'ended',
    ]);
  });

  it('is extended in time, also after sleep, or warns of its end if a lifetime was chosen', async () => {
    for (const [ttl, expected] of [
      [undefined, [`extend ${TUNNEL.id.slice(-1)} 1860s`]],
      ['1h', ['expires in 9 min']],
    ] as const) {
      const { served, serve, api, connection, clock } = fakeServed(
        { settings: { ...SPEC, ttl } },
        { warns: true },
      );
      api.tunnels = [TUNNEL];
      const heard: string[] = [];
      served.listen({ onExpiring: (leftMs) => heard.push(`expires in ${leftMs / 60_000} min`) });
      served.serve(connection);
      serve.last.onState({ name: 'online' });
      await turn();
      // Half of its hour and a minute pass while the machine sleeps, or all but the last 9 minutes.
      api.time += (ttl === undefined ? 31 : 51) * 60_000;
      if (ttl === undefined) serve.last.onState({ name: 'online' });
      else clock.advance(50 * 60_000);
      await turn();
      await turn();
      const extended = api.calls.filter((call) => call.startsWith('extend'));
      assert.deepEqual([...extended, ...heard], expected);
      served.end('stopped', 'It was stopped.');
      assert.deepEqual(clock.waiting, []);
    }
  });

  it('watches no end that was chosen, or that traffic moves, unless it is to warn', () => {
    for (const lifetime of [{ ttl: '1h' }, { idle: true }]) {
      const { served, connection, clock } = fakeServed({ settings: { ...SPEC, ...lifetime } });
      served.serve(connection);
      assert.deepEqual(clock.waiting, []);
    }
  });

  it('shows the tokens that the relay has made until they are forgotten', () => {
    const tokens = [{ name: 'ci', token: 'cvp_ci' }, { name: 'old' }];
    const { served } = fakeServed({ tunnel: { ...TUNNEL, access: { tokens, links: true } } });
    assert.deepEqual(served.tunnel.access, { tokens: [{ name: 'ci' }, { name: 'old' }], links: true });
    assert.deepEqual(served.tunnelWithTokens.access, { tokens, links: true });
    served.update({ ...TUNNEL, access: { tokens: [{ name: 'ci' }] } });
    assert.equal(served.madeToken('ci'), 'cvp_ci');
    served.forgetToken('ci');
    assert.deepEqual(served.tunnelWithTokens.access, { tokens: [{ name: 'ci' }] });
  });

  it('forgets the token of a name that was revoked, and approval requests with the policy', () => {
    const tokens = [{ name: 'ci', token: 'cvp_ci' }];
    const { served, serve, connection } = fakeServed({
      tunnel: { ...TUNNEL, access: { tokens, knock: true } },
    });
    served.serve(connection);
    serve.knock('n1');
    served.changedAccess({ ...TUNNEL, access: { knock: true } }, 'mild-oak-fern');
    assert.deepEqual(
      [served.madeToken('ci'), served.password, served.approvalRequests.length],
      [undefined, 'mild-oak-fern', 1],
    );
    served.changedAccess(TUNNEL, undefined);
    assert.deepEqual([served.password, served.approvalRequests], [undefined, []]);
  });

  it('passes on approval requests, and says which a relay has repeated', () => {
    const { served, serve, connection } = fakeServed();
    const heard: string[] = [];
    served.listen({ onApprovalRequest: ({ id }, isNew) => heard.push(`${id} ${isNew}`) });
    served.serve(connection);
    for (const id of ['n1', 'n2', 'n1']) serve.knock(id);
    assert.deepEqual(heard, ['n1 true', 'n2 true', 'n1 false']);
    served.answered('n1');
    assert.deepEqual(
      served.approvalRequests.map(({ id }) => id),
      ['n2'],
    );
    served.end('stopped', 'It was stopped.');
    assert.deepEqual(served.approvalRequests, []);
  });

  it('remembers a problem with the local service until that responds, and no other problem', () => {
    const { clock, served, serve, connection } = fakeServed();
    const heard: string[] = [];
    served.listen({ onProblem: ({ code }) => heard.push(code) });
    served.serve(connection);
    serve.last.onProblem({ code: 'visitor-gone', text: 'The visitor left.' });
    const problem = (): string | undefined => served.localProblem?.code;
    assert.equal(problem(), undefined);
    const before = served.localNews;
    serve.last.onProblem({ code: 'local-refused', text: 'Nothing answers.' });
    const first = served.localNews;
    clock.advance(1000);
    serve.last.onProblem({ code: 'local-refused', text: 'Nothing answers.' });
    assert.deepEqual([first === before, served.localNews === first], [false, true]);
    record(served, 502);
    assert.equal(problem(), 'local-refused');
    record(served, 200);
    assert.equal(problem(), undefined);
    assert.deepEqual(heard, ['visitor-gone', 'local-refused', 'local-refused']);
  });

  it('tells a flood of problems once a second for each code, with the number that it left out', () => {
    const { clock, served, serve, connection } = fakeServed();
    const heard: string[] = [];
    served.listen({ onProblem: ({ code, leftOut = 0 }) => heard.push(`${code} ${leftOut}`) });
    served.serve(connection);
    const happens = (code: 'local-refused' | 'local-reset'): void => {
      serve.last.onProblem({ code, text: 'It failed.' });
    };
    for (let count = 0; count < 100; count += 1) happens('local-refused');
    happens('local-reset');
    clock.advance(999);
    happens('local-refused');
    assert.deepEqual(heard, ['local-refused 0', 'local-reset 0']);
    clock.advance(1);
    happens('local-refused');
    happens('local-reset');
    clock.advance(1000);
    happens('local-refused');
    assert.deepEqual(heard.slice(2), ['local-refused 100', 'local-reset 0', 'local-refused 0']);
  });

  it('counts requests with its log, and never fewer than the relay', () => {
    const { served, connection } = fakeServed({ tunnel: { ...TUNNEL, requests: 100 } });
    assert.equal(served.requests, 100);
    for (let count = 0; count < 3; count += 1) record(served);
    assert.equal(served.requests, 103);
    // The relay also counts those that it refuses itself.
    served.update({ ...TUNNEL, requests: 110 });
    assert.equal(served.requests, 110);
    served.serve(connection, { tunnel: TUNNEL });
    assert.equal(served.requests, 0, 'another one takes its place');
  });

  it('keeps as many requests, and as much of their bodies, as its settings say', async () => {
    const { served } = fakeServed({ settings: { ...SPEC, keepBodies: 70_000 } });
    const body = `${'x'.repeat(66_000)}needle`;
    served.log
      .open()
      .toLocal(Buffer.from(`POST / HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`));
    assert.deepEqual((await new LogSearch(served.log).find('needle')).ids, [1]);
  });

  it('repeats a request to the port of its host, also while it is not served', async () => {
    const seen: string[] = [];
    const ports = await Promise.all(
      ['main', 'api'].map(async (name) => {
        const { port } = await startHttp((_request, response) => {
          seen.push(name);
          response.end();
        });
        return port;
      }),
    );
    const [main = 0, api = 0] = ports;
    const { served } = to({ ...localPort(main), hosts: { api } });
    for (const host of ['my-app.localhost', 'api--my-app.localhost']) {
      served.log.open().toLocal(Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`));
      await served.replayer.replay(served.log.list()[0]?.id ?? 0);
    }
    assert.deepEqual(seen, ['main', 'api']);
  });

  it('names the Host that its local service gets', () => {
    for (const [hostHeader, host] of [
      ['keep', 'my-app.demo.localhost:8080'],
      ['local', 'localhost:3000'],
      ['shop.test', 'shop.test'],
    ] as const)
      assert.equal(to({ ...localPort(3000), hostHeader }).served.localHost, host);
  });

  it('serves a folder for as long as the tunnel, with a Host that stays', async () => {
    const folder = temporaryDirectory();
    writeFileSync(join(folder, 'index.html'), 'hello');
    const { served, serve, connection } = to({ folder });
    served.serve(connection);
    const first = await until(() => serve.all[0]);
    record(served);
    served.end('stopped', 'It was stopped.');
    await assert.rejects(
      served.replayer.replay(1),
      (error) => error instanceof ReplayRefused && error.message.includes(`${folder} is not shared`),
    );
    served.serve(connection);
    const second = await until(() => serve.all[1]);
    assert.equal(second.local.hostHeader, first.local.hostHeader);
    assert.notEqual(second.local.hostHeader, undefined);
    await served.replayer.replay(1);
    assert.equal(served.log.list()[0]?.status, 403, 'it was recorded without the Host');
    served.end('stopped', 'It was stopped.');
  });

  it('ends with the reason if its folder cannot be served, and serves nothing that was stopped meanwhile', async () => {
    const folder = temporaryDirectory();
    const { served, serve, connection } = to({ folder });
    served.serve(connection);
    served.end('stopped', 'It was stopped.');
    rmSync(folder, { recursive: true });
    served.serve(connection);
    const why = await until(() =>
      served.state.name === 'ended' && served.state.reason === 'refused' ? served.state.why : undefined,
    );
    assert.match(textOf(why), /cannot be read \(ENOENT\)/);
    assert.deepEqual(serve.all, []);
  });
});
