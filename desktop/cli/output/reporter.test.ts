import assert from 'node:assert/strict';
import { localPort } from '../../client/local/local-service.ts';
import { record } from '../../testing/command-context.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { TUNNEL } from '../../testing/fake-platform.ts';
import { SPEC } from '../../testing/tunnel-spec.ts';
import { JsonReporter, TextReporter } from './reporter.ts';

describe('JsonReporter', () => {
  it('prints one event per line', () => {
    const { printed, output } = record();
    const reporter = new JsonReporter(output, SPEC);
    reporter.online(TUNNEL);
    reporter.reconnecting(1, 250, 'The relay is shutting down.');
    reporter.problem({ code: 'local-refused', text: 'Nothing answers on port 3000.' });
    reporter.problem({ code: 'local-reset', text: 'It failed.', leftOut: 7 });
    reporter.expiring(TUNNEL, 120_000);
    reporter.offline('expired', 'The tunnel has expired.');
    const events = printed.out
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    assert.deepEqual(events, [
      { event: 'online', tunnel: TUNNEL },
      { event: 'reconnecting', attempt: 1, retry_in_ms: 250, message: 'The relay is shutting down.' },
      { event: 'problem', code: 'local-refused', message: 'Nothing answers on port 3000.' },
      { event: 'problem', code: 'local-reset', message: 'It failed.', left_out: 7 },
      { event: 'expiring', in_seconds: 120, expires_at: TUNNEL.expires_at },
      { event: 'offline', reason: 'expired', message: 'The tunnel has expired.' },
    ]);
    assert.equal(printed.err, 'culvert: The tunnel has expired.\n');
  });
});

describe('reporters of a tunnel with approval requests', () => {
  const knock = {
    type: 'knock',
    id: 'k1',
    address: '192.0.2.7',
    agent: 'curl/8.5 \u{202e}',
    at: '2026-07-10T12:00:00.000Z',
  } as const;

  it('show how to answer, and let the visitor inject no other text', () => {
    const { printed, output } = record();
    new TextReporter(output, new FakeClock(), SPEC).approvalRequest(knock, TUNNEL);
    assert.equal(
      printed.out,
      '192.0.2.7 (curl/8.5 \\u{202e}) is asking for access. To respond, run "culvert knock my-app k1 --admit" or --refuse.\n',
    );
    const client = { name: 'Claude', host: 'claude.ai', returns_to: 'evil.example' };
    printed.out = '';
    new TextReporter(output, new FakeClock(), SPEC).approvalRequest({ ...knock, client }, TUNNEL);
    assert.match(
      printed.out,
      /^An agent of claude\.ai, returning to evil\.example, is asking for access, from 192\.0\.2\.7 \(.*\)\. /,
    );
    printed.out = '';
    new TextReporter(output, new FakeClock(), SPEC).approvalRequest({ ...knock, agent: '' }, TUNNEL);
    assert.match(printed.out, /^192\.0\.2\.7 is asking for access\. /);
  });

  it('give programs what they need to answer', () => {
    const { printed, output } = record();
    new JsonReporter(output, { ...SPEC, label: 'web' }).approvalRequest(knock, TUNNEL);
    const { type: _type, ...rest } = knock;
    assert.deepEqual(JSON.parse(printed.out), { event: 'knock', name: 'web', tunnel: TUNNEL.id, ...rest });
  });
});

describe('reporters of several tunnels', () => {
  it('name the tunnel of each message', () => {
    const { printed, output } = record();
    new TextReporter(output, new FakeClock(), { ...SPEC, label: 'web' }).online(TUNNEL);
    assert.ok(
      printed.out
        .trimEnd()
        .split('\n')
        .every((line) => line.startsWith('web: ')),
    );
    printed.out = '';
    new JsonReporter(output, { ...SPEC, label: 'web' }).offline('stopped', 'Stopped.');
    assert.deepEqual(JSON.parse(printed.out), {
      event: 'offline',
      name: 'web',
      reason: 'stopped',
      message: 'Stopped.',
    });
  });
});

describe('TextReporter', () => {
  it('prints the address to share first, then the others, the target and the expiry', () => {
    const { printed, output } = record();
    new TextReporter(output, new FakeClock(), SPEC).online(TUNNEL);
    const lines = printed.out.split('\n');
    assert.match(lines[0] ?? '', / http:\/\/my-app\.demo\.localhost:8080$/);
    assert.match(lines[1] ?? '', / http:\/\/my-app\.localhost:8080$/);
    assert.match(lines[2] ?? '', / http:\/\/localhost:8080\/t\/my-app$/);
    assert.match(lines[3] ?? '', / http:\/\/localhost:3000$/);
    assert.match(lines[4] ?? '', /\(in 1 h\), extended while the command runs$/);
  });

  it('shows the access policy and a generated password', () => {
    const { printed, output } = record();
    const spec = { ...SPEC, madePassword: 'mild-oak-fern' };
    const tunnel = { ...TUNNEL, access: { password: true, links: true } as const };
    new TextReporter(output, new FakeClock(), spec).online(tunnel);
    assert.match(printed.out, /^Access {7}password or signed link\nPassword {5}mild-oak-fern\n/m);
    printed.out = '';
    new JsonReporter(output, spec).online(tunnel);
    assert.deepEqual(JSON.parse(printed.out), { event: 'online', tunnel, password: 'mild-oak-fern' });
  });

  it('shows the target if it is not on this machine', () => {
    const { printed, output } = record();
    const spec = { ...SPEC, target: { ...localPort(8443), host: 'nas', https: true } };
    new TextReporter(output, new FakeClock(), spec).online(TUNNEL);
    assert.match(printed.out, /Forwards to {2}https:\/\/nas:8443\n/);
  });

  it('explains what keeps an idle tunnel alive', () => {
    const { printed, output } = record();
    new TextReporter(output, new FakeClock(), SPEC).online({ ...TUNNEL, idle_ttl: true });
    assert.match(printed.out, /after 1 h without traffic/);
  });

  it('reports once that it is offline, however many attempts fail, and when it is back', () => {
    const { printed, output } = record();
    const reporter = new TextReporter(output, new FakeClock(), SPEC);
    reporter.online(TUNNEL);
    printed.out = '';
    reporter.reconnecting(1, 250, 'The relay is shutting down.');
    reporter.reconnecting(2, 500, 'No connection to the relay: nothing is listening there.');
    reporter.online(TUNNEL);
    assert.equal(printed.out, 'The relay is shutting down. Trying to reconnect…\nOnline again.\n');
  });

  it('repeats a problem at most every 30 s, and does not report visitors that left', () => {
    const { printed, output } = record();
    const clock = new FakeClock();
    const reporter = new TextReporter(output, clock, SPEC);
    const refused = { code: 'local-refused', text: 'Nothing answers.' } as const;
    reporter.problem(refused);
    clock.advance(29_999);
    reporter.problem(refused);
    reporter.problem({ code: 'visitor-gone', text: 'Gone.' });
    assert.equal(printed.out, 'Nothing answers.\n');
    clock.advance(1);
    reporter.problem(refused);
    assert.equal(printed.out, 'Nothing answers.\nNothing answers.\n');
  });
});
