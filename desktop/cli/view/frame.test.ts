import assert from 'node:assert/strict';
import type { RequestSummary } from '../../client/inspector/records.ts';
import { TUNNEL } from '../../testing/fake-platform.ts';
import { clockTime, localTime } from '../output/format.ts';
import { frame, type ViewState } from './frame.ts';
import type { PanelState } from './panel.ts';
import { paint, span } from './text.ts';

const NOW = Date.parse('2026-07-10T12:59:00.000Z');

const request = (id: number, changes: Partial<RequestSummary> = {}): RequestSummary => ({
  id,
  startedAt: NOW + id,
  method: 'GET',
  target: `/${id}`,
  status: 200,
  durationMs: 12.4,
  bytesIn: 100,
  bytesOut: 2048,
  isBroken: false,
  visitor: undefined,
  replayOf: undefined,
  isImported: false,
  webhook: undefined,
  ...changes,
});

const panel = (changes: Partial<PanelState> = {}): PanelState => ({
  label: undefined,
  localUrl: 'http://localhost:3000',
  status: { name: 'online' },
  tunnel: { ...TUNNEL, requests: 1, bytes_in: 512, bytes_out: 2048 },
  isNameKept: false,
  aheadMs: 0,
  isKeptOpen: false,
  madePassword: undefined,
  madeTokens: [],
  problem: undefined,
  knocks: [],
  requests: [],
  ...changes,
});

function draw(panels: PanelState[], changes: Partial<ViewState> = {}, columns = 90, rows = 24): string[] {
  const lines = frame(
    {
      panels,
      now: NOW,
      page: 'overview',
      current: 0,
      window: undefined,
      note: undefined,
      hasKeys: true,
      hasUtf8: true,
      ...changes,
    } as const,
    { columns, rows },
  );
  assert.ok(lines.length <= rows, `${lines.length} lines`);
  return lines.map((line) => paint(line, columns, false));
}

const knock = (since: number, agent = 'curl/8.5') => ({ id: 'k1', address: '192.0.2.7', agent, since });

describe('frame', () => {
  it('shows what fails on purpose, and the key for it', () => {
    const rehearsal = { text: '/hooks 500 x2, /api 3s', isOn: true };
    const row = (shown: boolean): string | undefined =>
      draw([panel({ rehearsal: { ...rehearsal, isOn: shown } })]).find((line) =>
        line.startsWith('Rehearsal'),
      );
    assert.equal(row(true), 'Rehearsal    /hooks 500 x2, /api 3s (f switches it off)');
    assert.equal(row(false), 'Rehearsal    off: /hooks 500 x2, /api 3s (f switches it on)');
    const requests = [request(1, { rehearsed: 'failed', status: 500 })];
    assert.ok(draw([panel({ requests })]).some((line) => line.includes('failed on purpose: /1')));
  });

  it('shows everything about one tunnel', () => {
    const at = clockTime(NOW);
    assert.deepEqual(draw([panel({ requests: [request(2, { status: 404, target: '/x?y' }), request(1)] })]), [
      'culvert   ? keys   q quits   i requests   c copies',
      '',
      '● Online',
      'Address      http://my-app.demo.localhost:8080',
      'also         http://my-app.localhost:8080',
      'also         http://localhost:8080/t/my-app',
      'Forwards to  http://localhost:3000',
      `Expires      in 1 min, ${localTime(TUNNEL.expires_at)} (e extends)`,
      'Traffic      1 request, 512 B in, 2 KiB out',
      '',
      `${at}  GET      404    12 ms     2 KiB  /x?y`,
      `${at}  GET      200    12 ms     2 KiB  /1`,
    ]);
  });

  it('says if the account keeps the name', () => {
    const rows = draw([panel({ isNameKept: true })]);
    assert.ok(rows.includes('Name         my-app, kept for your account'), rows.join('\n'));
  });

  it('shows the remaining time by the clock of the relay', () => {
    const rows = draw([panel({ aheadMs: -3_600_000 })]);
    assert.ok(rows.includes(`Expires      in 1 h 1 min, ${localTime(TUNNEL.expires_at)}`), rows.join('\n'));
  });

  it('shows the access policy as the relay reports it', () => {
    const access = { password: true, allow: ['10.0.0.0/8'] } as const;
    const locked = panel({ tunnel: { ...TUNNEL, access }, madePassword: 'mild-oak-fern' });
    const rows = ['Access       password, only from 10.0.0.0/8', 'Password     mild-oak-fern'];
    assert.deepEqual(draw([locked]).slice(6, 8), rows);
    assert.deepEqual(
      draw([{ ...locked, label: 'web' }, panel({ label: 'api' })]).slice(4, 6),
      rows.map((row) => `       ${row}`),
    );
    const changed = panel({ tunnel: { ...TUNNEL, access: { links: true } }, madePassword: 'mild-oak-fern' });
    assert.deepEqual(draw([changed]).slice(6, 8), [
      'Access       signed link',
      'Forwards to  http://localhost:3000',
    ]);
  });

  it('shows the tokens that were made, as long as the tunnel has them', () => {
    const madeTokens = [
      { name: 'ci', token: 'cvp_ci' },
      { name: 'old', token: 'cvp_old' },
    ];
    const tunnel = { ...TUNNEL, access: { tokens: [{ name: 'ci' }] } };
    assert.deepEqual(draw([panel({ tunnel, madeTokens })]).slice(6, 9), [
      'Access       token (ci)',
      'Token        ci: cvp_ci',
      'Forwards to  http://localhost:3000',
    ]);
  });

  it('shows approval requests first and on every page, with the keys that answer them', () => {
    const line = '? 192.0.2.7 is asking for access: a approves for an hour, x denies. curl/8.5';
    assert.equal(draw([panel({ knocks: [knock(1)] })])[1], line);
    assert.equal(draw([panel({ knocks: [knock(1)] })], { page: 'code' })[0], line);
    const several = [
      panel({ label: 'web', knocks: [knock(2)] }),
      panel({ label: 'api', knocks: [knock(1, ''), knock(3)] }),
    ];
    const first =
      '? 192.0.2.7 is asking for access to api: a approves for an hour, x denies. 2 more waiting.';
    assert.equal(draw(several)[1], first);
    const noKeys = draw([panel({ knocks: [knock(1), knock(2)] })], { hasKeys: false }, 120)[1];
    assert.equal(
      noKeys,
      '? 192.0.2.7 is asking for access: run "culvert knock my-app k1 --admit" or --refuse. 1 more waiting. curl/8.5',
    );
  });

  it('shows problems and remedies in full', () => {
    const problem = 'Nothing is listening on port 3000. Start the service there; the tunnel stays open.';
    const status = { name: 'reconnecting', retryAt: NOW + 2500, why: 'The relay is away.' } as const;
    const lines = draw([panel({ problem, status })], {}, 40);
    assert.deepEqual(lines.slice(2, 4), ['◌ Reconnecting. The relay is away. Next', '  try in 3 s.']);
    assert.deepEqual(lines.slice(13, 15), [
      '! Nothing is listening on port 3000.',
      '  Start the service there; the tunnel',
    ]);
    assert.match(draw([panel({ status })])[2] ?? '', /Next try in 3 s\.$/);
  });

  it('shows no details of a tunnel that does not exist yet or any longer', () => {
    const opening = draw([panel({ status: { name: 'opening' }, tunnel: undefined })]);
    assert.deepEqual(opening.slice(2), [
      '○ Opening…',
      'Forwards to  http://localhost:3000',
      '',
      'No requests yet.',
    ]);
    const ended = { name: 'ended', reason: 'expired', why: 'The tunnel has expired.' } as const;
    assert.equal(draw([panel({ status: ended })])[2], '✕ Ended. The tunnel has expired.');
  });

  it('has the newest request on the right from 110 columns, and how long relay and service take', () => {
    const one = panel({ requests: [request(1)], latency: { relayMs: 23, p50Ms: 12, p90Ms: 1340 } });
    const newest = [[span('GET /1 HTTP/1.1')], [span('200, 12 ms')]];
    const lines = draw([one], { newest }, 110);
    assert.match(lines[0] ?? '', /^culvert .* │ GET \/1 HTTP\/1\.1$/);
    assert.match(lines[1] ?? '', / │ 200, 12 ms$/);
    assert.ok(lines.every((line) => line[54] === '│'));
    const latency = /^Latency {6}relay 23 ms, p50 12 ms, p90 1\.3 s +│/;
    assert.ok(
      lines.some((line) => latency.test(line)),
      lines.join('\n'),
    );
    assert.doesNotMatch(draw([one], { newest }, 109).join('\n'), /│|Latency/);
  });

  it('shows several tunnels in short, and the tunnel of each request', () => {
    const lines = draw([
      panel({ label: 'web', requests: [request(1)] }),
      panel({ label: 'api-2', status: { name: 'opening' }, tunnel: undefined }),
    ]);
    assert.deepEqual(lines.slice(2), [
      'web   ›● http://my-app.demo.localhost:8080',
      '         1 min left (e extends), to http://localhost:3000, 1 request, 512 B in, 2 KiB out',
      'api-2  ○ Opening…',
      '',
      `${clockTime(NOW)}  web    GET      200    12 ms     2 KiB  /1`,
    ]);
  });

  it('shows the state of requests: in progress, broken, repeated', () => {
    const requests = [
      request(4, { status: undefined, durationMs: undefined, bytesOut: 0 }),
      request(3, { isBroken: true }),
      request(2, { durationMs: 12_345, replayOf: 1 }),
    ];
    const rows = draw([panel({ requests })]).slice(-3);
    assert.match(rows[0] ?? '', /GET +… +0 B +\/4$/);
    assert.match(rows[1] ?? '', /GET +200 +cut +2 KiB +\/3$/);
    assert.match(rows[2] ?? '', /GET +200 +12\.3 s +2 KiB +again 1: \/2$/);
  });

  it('marks imported requests, and which of them were never sent', () => {
    const requests = [
      request(2, { isImported: true }),
      request(1, { isImported: true, status: undefined, durationMs: 0, bytesOut: 0 }),
    ];
    const rows = draw([panel({ requests })]).slice(-2);
    assert.match(rows[0] ?? '', /GET +200 +12 ms +2 KiB +imported: \/2$/);
    assert.match(rows[1] ?? '', /GET +not sent +0 B +imported: \/1$/);
  });

  it('names the visitor if visitors have to sign in', () => {
    const requests = [request(1, { visitor: 'link:für Ann' })];
    assert.match(draw([panel({ requests })]).at(-1) ?? '', /KiB {2}link:f\\xfcr Ann {2}\/1$/);
  });

  it('lets no visitor write to the terminal', () => {
    const evil = '\u{1B}[2J\u{9B}H\u{202E}\r\n';
    const requests = [request(1, { method: evil, target: `/${evil}` })];
    const knocks = [knock(1, evil)];
    const text = draw([
      panel({ requests, knocks, problem: evil, tunnel: { ...TUNNEL, public_url: evil } }),
    ]).join('');
    assert.doesNotMatch(text, /[\p{Cc}\p{Cf}]/u);
  });

  it('sorts requests of several tunnels by time, as many as fit', () => {
    const even = [8, 6, 4, 2].map((id) => request(id));
    const odd = [9, 7, 5, 3, 1].map((id) => request(id));
    const panels = [panel({ label: 'a', requests: even }), panel({ label: 'b', requests: odd })];
    const rows = draw(panels, {}, 90, 10).slice(7);
    assert.deepEqual(
      rows.map((row) => row.slice(-1)),
      ['9', '8', '7'],
    );
  });

  it('shows the tunnel of each request in 60 columns', () => {
    const panels = [panel({ label: 'web', requests: [request(1)] }), panel({ label: 'administration' })];
    assert.equal(draw(panels, {}, 60).at(-1), 'web         GET      200    12 ms  /1');
    assert.match(draw([panel()], {}, 60)[0] ?? '', /\? keys   q quits/);
    assert.match(draw([panel()], {}, 60)[3] ?? '', /^Address +http:\/\/my-app\./);
  });

  it('shows the state of each tunnel and how to quit in 40 columns', () => {
    const panels = [panel({ label: 'administration-of-everything' }), panel({ label: 'web' })];
    assert.deepEqual(draw(panels, {}, 40).slice(0, 6), [
      'culvert   ? keys   q quits   Tab next  …',
      '',
      'administr… ›● ',
      'http://my-app.demo.localhost:8080',
      '              1 min left (e extends), t…',
      'web         ● ',
    ]);
  });

  it('shows addresses and secrets whole, from the edge of a window that is too narrow', () => {
    const tunnel = { ...TUNNEL, access: { password: true } as const };
    const one = panel({ tunnel, madePassword: 'correct-horse-battery-staple' });
    const lines = draw([one], { window: 'http://127.0.0.1:4040/#0123456789' }, 30);
    for (const [name, ...whole] of [
      ['Address', 'http://my-app.demo.localhost:8', '080'],
      ['also', 'http://my-app.localhost:8080'],
      ['Password', 'correct-horse-battery-staple'],
      ['Window', 'http://127.0.0.1:4040/#0123456', '789'],
    ] as const) {
      const at = lines.findIndex((line) => line.trim() === name);
      assert.deepEqual(lines.slice(at + 1, at + 1 + whole.length), whole, name);
    }
    const code = draw([one], { page: 'code' }, 30).slice(1, 3);
    assert.deepEqual(code, ['http://my-app.demo.localhost:8', '080']);
  });

  it('omits the least important parts from a narrow line', () => {
    assert.equal(draw([panel({ requests: [request(1)] })], {}, 40).at(-1), 'GET      200    12 ms  /1');
  });

  it('shows the QR code of a tunnel, or the size it needs', () => {
    const lines = draw([panel({ requests: [request(1)] })], { page: 'code' }, 90, 24);
    assert.equal(lines[1], 'http://my-app.demo.localhost:8080');
    assert.match(lines[2] ?? '', /^█{29,}$/);
    assert.ok(!lines.join('\n').includes('GET'));
    const small = draw([panel()], { page: 'code' }, 90, 12).at(-1) ?? '';
    assert.match(small, /^The QR code needs \d+ × \d+ characters, so make the window larger\.$/);
    assert.match(
      draw([panel()], { page: 'code', hasUtf8: false }).at(-1) ?? '',
      /needs a terminal with UTF-8/,
    );
  });

  it('fits any window', () => {
    const panels = [panel({ label: 'a', requests: [request(1)], problem: 'Oh. '.repeat(40) }), panel()];
    for (const [columns, rows] of [
      [1, 1],
      [5, 3],
      [300, 4],
      [20, 100],
    ] as const) {
      for (const page of ['overview', 'code', 'help', 'quit'] as const) {
        for (const line of draw(panels, { page }, columns, rows)) assert.ok(line.length <= columns, line);
      }
    }
  });
});
