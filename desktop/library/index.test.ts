import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import {
  CERTIFICATE,
  CERTIFICATE_KEY,
  closeServers,
  listen,
  type RestResponse,
  startRestRelay,
  startTunnelRelay,
} from '../testing/servers.ts';
import { expose } from './index.ts';
import type { ExposeOptions } from './types/index.d.ts';

const KEY = `cvt_${'k'.repeat(32)}`;
const limited = (seconds: number): RestResponse => [
  429,
  { error: 'rate limit exceeded' },
  { 'retry-after': String(seconds) },
];

describe('expose', () => {
  afterEach(closeServers);

  it('tries again, and warns, if the relay limits how many tunnels can be created', async () => {
    const answers = [limited(0), limited(0)];
    const { address, calls } = await startRestRelay(() => answers.shift() ?? [403, { error: 'at last' }]);
    const warned = once(process, 'warning') as Promise<[Error]>;
    await assert.rejects(expose({ port: 1, relay: address.origin, key: KEY }), /at last/);
    assert.equal(calls.length, 3);
    assert.match((await warned)[0].message, /limits how many tunnels you can create per minute/);
  });

  for (const [access, message] of [
    [{ password: undefined }, /^access\.password must not be undefined$/],
    [{ pasword: 'secret' }, /^access\.pasword is not a field of an access policy$/],
  ] as const)
    it(`creates no tunnel with access ${JSON.stringify(Object.entries(access))}`, async () => {
      const { address, calls } = await startRestRelay(() => [500, { error: 'not expected' }]);
      const options = { port: 1, relay: address.origin, key: KEY, access: access as object };
      await assert.rejects(expose(options), { message });
      assert.equal(calls.length, 0);
    });

  it('asks for a tunnel that carries bytes', async () => {
    const { address, calls } = await startRestRelay(() => [403, { error: 'at last' }]);
    const raw = { protocol: 'tcp', remotePort: 10_022, access: { allow: ['192.0.2.7'] } } as const;
    await assert.rejects(expose({ port: 22, ...raw, relay: address.origin, key: KEY }), /at last/);
    const body: unknown = JSON.parse(calls[0]?.slice('POST /v1/tunnels '.length) ?? '');
    const access = { allow: ['192.0.2.7'] };
    const sent = { local_port: 22, idle_ttl: false, protocol: 'tcp', remote_port: 10_022, access };
    assert.deepEqual(body, sent);
  });

  for (const [given, message] of [
    [{ protocol: 'udp' }, /^protocol must be http, tls or tcp$/],
    [{ protocol: 'tls', remotePort: 1 }, /^remotePort needs protocol tcp$/],
    [{ protocol: 'tcp', remotePort: 0 }, /^remotePort must be /],
    [{ proxyProtocol: true }, /^proxyProtocol needs protocol tls or tcp$/],
    [{ protocol: 'tcp', compress: 'on' }, /^compress is not available with protocol tcp$/],
    [{ protocol: 'tls', tokens: [{ name: 'ci' }] }, /^tokens is not available with protocol tls$/],
    [{ protocol: 'tcp', access: { knock: true } }, /^access\.knock is not available with protocol tcp$/],
  ] as const)
    it(`creates no tunnel with ${JSON.stringify(given)}`, async () => {
      const options = { port: 1, relay: 'http://127.0.0.1:9', key: KEY, ...given } as ExposeOptions;
      await assert.rejects(expose(options), { name: 'TypeError', message });
    });

  for (const [what, options, extensions] of [
    ['a tunnel without a chosen lifetime, by the clock of the relay', {}, [/^\{"ttl":"300\ds"\}$/]],
    ['no tunnel with one', { ttl: '1h' }, []],
    ['no tunnel with an idle one', { idle: true }, []],
  ] as const)
    it(`extends ${what}`, async () => {
      const { relay, calls } = await startTunnelRelay();
      await using tunnel = await expose({ port: 1, relay, key: KEY, ...options });
      while (calls.length < 1 + 2 * extensions.length) await turn();
      assert.ok(tunnel.url);
      const asked = calls.flatMap((call) => (call.startsWith('PUT') ? [call.split(' ')[2] ?? ''] : []));
      assert.equal(asked.length, extensions.length);
      for (const [index, body] of asked.entries()) assert.match(body, extensions[index] ?? /^$/);
    });

  it('fetches from addresses that only CULVERT_CA trusts', async () => {
    const { relay } = await startTunnelRelay();
    const server = createServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (_request, response) =>
      response.end('trusted'),
    );
    const url = `https://127.0.0.1:${await listen(server)}/`;
    const file = join(mkdtempSync(join(tmpdir(), 'culvert-library-')), 'ca.pem');
    writeFileSync(file, CERTIFICATE);
    try {
      await using plain = await expose({ port: 1, relay, key: KEY });
      await assert.rejects(plain.fetch(url), TypeError);
      process.env['CULVERT_CA'] = file;
      await using tunnel = await expose({ port: 1, relay, key: KEY });
      assert.equal(await (await tunnel.fetch(url)).text(), 'trusted');
    } finally {
      delete process.env['CULVERT_CA'];
      rmSync(dirname(file), { recursive: true });
    }
  });

  it('stops waiting for the reason of the signal', async () => {
    const stop = new AbortController();
    const { address, calls } = await startRestRelay(() => limited(60));
    process.once('warning', () => stop.abort(new Error('no longer needed')));
    const opening = expose({ port: 1, relay: address.origin, key: KEY, signal: stop.signal });
    await assert.rejects(opening, /no longer needed/);
    assert.equal(calls.length, 1);
  });
});
