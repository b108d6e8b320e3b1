/** A kept name for a week (protocol.md section 16), as a developer and as the sender of webhooks live with it. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { Culvert, spawnCulvert } from '../support/programs.ts';
import { type Response, visit } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { nextWeek, TestClock } from '../support/test-clock.ts';

const [MONDAY, TUESDAY, WEDNESDAY, THURSDAY, FRIDAY, , SUNDAY] = [0, 1, 2, 3, 4, 5, 6] as const;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe('a name during a week', () => {
  const clock = new TestClock(suiteScope());
  const { scope, relay } = relaySuite(clock.settings);
  const at = nextWeek();

  /** Runs a command of the owner to its end. @returns what it printed */
  async function culvert({ key }: TestAccount, ...args: string[]): Promise<string> {
    const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key, ...clock.settings };
    const child = spawnCulvert(scope, args, environment);
    assert.equal((await child.exit()).code, 0, child.stderr);
    return child.lines.join('\n');
  }

  /** A tunnel that a jump of the clock does not end. */
  function open({ key }: TestAccount, name: string, port: number): Promise<Culvert> {
    return Culvert.start(scope, relay, key, port, ['--name', name, '--ttl', '168h'], clock.settings);
  }

  function ask(name: string, accept = 'text/html', more: object = {}): Promise<Response> {
    return visit(relay.port, {
      host: `${name}.localhost:${relay.port}`,
      headers: [['Accept', accept]],
      ...more,
    });
  }

  /** What a visitor meets: the body of the service, or the relay's reason. */
  async function meets(name: string, expected: string): Promise<Response> {
    return await eventually(20_000, async () => {
      const response = await ask(name);
      assert.equal(response.head.field('culvert-error') ?? response.text, expected);
      return response;
    });
  }

  it("is its developer's while a laptop sleeps, is kept, gets a message, is forgotten and let go", async () => {
    const [ann, bob] = await Promise.all([createAccount(relay), createAccount(relay)]);
    const { port } = await startHttpService(scope, (_, response) => response.end('shop'));

    clock.set(at(MONDAY, 9));
    const monday = await open(ann, 'shop', port);
    await meets('shop', 'shop');
    clock.set(at(MONDAY, 18));
    assert.equal((await monday.stop()).code, 0);
    const offline = await meets('shop', 'tunnel-offline');
    assert.match(offline.head.field('refresh') ?? '', /^\d+$/);

    // The night is shorter than the hold.
    clock.set(at(TUESDAY, 9));
    assert.equal(await wanted(bob, 'shop'), 409);
    const tuesday = await open(ann, 'shop', port);
    assert.equal(tuesday.tunnel.public_url, monday.tunnel.public_url);
    await meets('shop', 'shop');
    assert.equal(await culvert(ann, 'name', 'keep', 'shop'), 'Your account keeps shop.');
    clock.set(at(TUESDAY, 18));
    const back = new Date(at(THURSDAY, 9)).toISOString();
    await culvert(ann, 'away', 'shop', 'Back on Thursday.', '--until', back);
    await meets('shop', 'shop');
    assert.equal((await tuesday.stop()).code, 0);

    const page = await meets('shop', 'away');
    assert.match(page.text, /<h1 [^>]*>Back on Thursday\.<\/h1>/);
    assert.match(page.text, />39 hours<\/time>/);
    clock.set(at(WEDNESDAY, 14));
    assert.match((await meets('shop', 'away')).text, />19 hours<\/time>/);
    const program = await ask('shop', 'application/json');
    assert.deepEqual(JSON.parse(program.text), { error: 'Back on Thursday.', code: 'away', until: back });
    clock.set(at(THURSDAY, 9.25));
    const late = await meets('shop', 'away');
    assert.doesNotMatch(late.text, /<time/);
    assert.equal(late.head.field('retry-after'), '60');
    const thursday = await open(ann, 'shop', port);
    await meets('shop', 'shop');
    await culvert(ann, 'away', 'shop', '--back');

    clock.set(at(FRIDAY, 18));
    assert.equal((await thursday.stop()).code, 0);
    // Longer than any hold.
    clock.set(at(SUNDAY, 20));
    await meets('shop', 'tunnel-offline');
    assert.equal(await wanted(bob, 'shop'), 409);

    // A name that was in use within the hold is held after it was let go.
    clock.set(at(MONDAY + 7, 8));
    const last = await open(ann, 'shop', port);
    assert.equal((await last.stop()).code, 0);
    assert.equal(await culvert(ann, 'name', 'release', 'shop'), 'Let go of shop.');
    clock.set(at(TUESDAY + 7, 7.75));
    assert.equal(await wanted(bob, 'shop'), 409);
    await meets('shop', 'tunnel-offline');
    clock.set(at(TUESDAY + 7, 8.25));
    const other = await startHttpService(scope, (_, response) => response.end('another shop'));
    await open(bob, 'shop', other.port);
    await meets('shop', 'another shop');
  });

  it('tells a sender of webhooks when to try again, and gets each delivery once, in order', async () => {
    const ann = await createAccount(relay);
    const got: string[] = [];
    const { port } = await startHttpService(scope, (request: IncomingMessage, response) => {
      if (request.method === 'GET') return void response.end('hooks');
      request.setEncoding('utf8');
      let body = '';
      request.on('data', (piece: string) => (body += piece));
      request.on('end', () => {
        got.push(body);
        response.writeHead(204).end();
      });
    });
    await culvert(ann, 'name', 'keep', 'hooks');

    const start = at(MONDAY, 17);
    /** What the owner does at which time. */
    const plans: { readonly at: number; readonly act: () => Promise<unknown> }[] = [
      {
        at: start + 5 * MINUTE_MS,
        act: () => {
          const until = new Date(start + 20 * HOUR_MS).toISOString();
          return culvert(ann, 'away', 'hooks', 'The laptop sleeps.', '--until', until);
        },
      },
      {
        at: start + 19 * HOUR_MS,
        act: async () => {
          await open(ann, 'hooks', port);
          await meets('hooks', 'hooks');
        },
      },
    ];
    /** Moves time on, past what the owner does. */
    const wait = async (time: number): Promise<void> => {
      while (plans[0] !== undefined && plans[0].at <= time) {
        const [{ at: when, act }] = plans.splice(0, 1) as [(typeof plans)[number]];
        clock.set(when);
        await act();
      }
      clock.set(time);
    };

    const deliveries = ['{"n":1}', '{"n":2}', '{"n":3}'];
    const refused: { readonly code: string | undefined; readonly waitMs: number }[] = [];
    clock.set(start);
    for (const body of deliveries) {
      for (let backoffMs = MINUTE_MS; ; backoffMs *= 4) {
        const response = await ask('hooks', '*/*', { method: 'POST', body });
        if (response.status === 204) break;
        assert.equal(response.status, 503);
        const seconds = Number(response.head.field('retry-after'));
        const waitMs = Math.max(backoffMs, seconds * 1000);
        refused.push({ code: response.head.field('culvert-error'), waitMs });
        await wait(clock.now + waitMs);
        assert.ok(clock.now < start + 24 * HOUR_MS, 'the sender has given up');
      }
    }
    assert.deepEqual(got, deliveries);
    assert.deepEqual(
      refused.map(({ code }) => code),
      ['tunnel-offline', 'tunnel-offline', 'away'],
    );
    // 60 s, 240 s, and then until the time that the owner has given.
    assert.deepEqual(
      refused.slice(0, 2).map(({ waitMs }) => waitMs),
      [MINUTE_MS, 4 * MINUTE_MS],
    );
    const back = refused[2]?.waitMs ?? 0;
    assert.ok(back > 19 * HOUR_MS && back < 20 * HOUR_MS, String(back));
  });
});

/** How the relay answers another account that wants the name. */
async function wanted({ api }: TestAccount, name: string): Promise<number> {
  return (await api.send('POST', '/v1/tunnels', { json: { local_port: 9, name } })).status;
}
