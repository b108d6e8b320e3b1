import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Inspector } from '../../client/inspector/inspector.ts';
import { RequestLog } from '../../client/inspector/request-log.ts';
import { LogSearch } from '../../client/inspector/search.ts';
import { LOG_METHODS } from '../../client/methods/log-methods.ts';
import { CallRefused } from '../../client/methods/method.ts';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { choose, exported, importRequests, InputError, readAll } from './inspect-run.ts';
import { IMPORT_MAX_BYTES, IMPORTED_REQUESTS_MAX } from '../../client/inspector/import-text.ts';

const NOTHING = Readable.from([]);

describe('an input', () => {
  it('is a file or standard input, as bytes', async () => {
    const file = join(temporaryDirectory(), 'a');
    writeFileSync(file, Buffer.from([0, 255]));
    assert.deepEqual([...(await readAll(file, NOTHING, 9))], [0, 255]);
    for (const path of [undefined, '-'])
      assert.equal(String(await readAll(path, Readable.from([Buffer.from('a'), Buffer.from('b')]), 9)), 'ab');
  });

  it('is read up to its limit', async () => {
    const chunk = Buffer.alloc(IMPORT_MAX_BYTES / 4);
    const endless = Readable.from(
      (function* () {
        for (;;) yield chunk;
      })(),
    );
    await assert.rejects(
      readAll('-', endless, IMPORT_MAX_BYTES),
      /Standard input is longer than the limit of 32768 KiB/,
    );
  });

  it('is named in the error when it cannot be read', async () => {
    const missing = join(temporaryDirectory(), 'missing');
    await assert.rejects(
      readAll(missing, NOTHING, 9),
      (error) => error instanceof InputError && error.message.startsWith(`"${missing}" cannot be read`),
    );
  });
});

describe('the tunnel to inspect', () => {
  const tunnels = ['work', 'home'].map((relay) => ({
    id: `id-${relay}`,
    slug: 'demo',
    publicUrl: `https://demo.${relay}.example.com`,
    path: '/gone',
  }));

  it('is never one of several that have the name, at different relays', () => {
    assert.throws(
      () => choose(tunnels, 'demo', []),
      /Several tunnels are called "demo".*id-work \(https:\/\/demo\.work\.example\.com\), id-home/,
    );
    assert.equal(choose(tunnels, 'ID-home', []).id, 'id-home');
  });
});

const ORIGIN = 'https://demo.example.com';

/** The same as over the socket, without one. */
function inspectorOf(log: RequestLog): Pick<Inspector, 'call'> {
  const tunnel = {
    tunnel: { id: 'tun_1', slug: 'demo', public_url: ORIGIN },
    log,
    search: new LogSearch(log),
    replayer: { replay: () => assert.fail(), replayEdited: () => assert.fail() },
    localHost: 'demo.example.com',
  };
  const host = {
    mayReveal: true,
    tunnels: () => [],
    find: () => tunnel,
    tell() {},
    ended: new AbortController().signal,
  };
  return {
    async call(name, given) {
      const { payload, run } = LOG_METHODS[name];
      return await run(payload.validateSync({ ...given, key: 'tun_1' }) as never, host);
    },
  };
}

function logOf(...targets: readonly string[]): RequestLog {
  const log = new RequestLog();
  for (const target of targets) log.open().toLocal(Buffer.from(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`));
  return log;
}

function harOf(targets: readonly string[]): string {
  const entries = targets.map((target) => ({
    request: { method: 'GET', url: `http://x${target}`, headers: [] },
  }));
  return JSON.stringify({ log: { entries } });
}

describe('an export', () => {
  it('contains all, matching or named requests, oldest first', async () => {
    const log = logOf('/a', '/b', '/bc');
    log.open().toLocal(Buffer.from('GET /half'));
    const urls = async (requests: readonly number[], filter: string): Promise<string[]> => {
      const { entries } = (await exported(inspectorOf(log), { requests, filter, reveal: false }, ORIGIN)).log;
      return entries.map(({ request }) => request.url.slice(ORIGIN.length));
    };
    assert.deepEqual(await urls([], ''), ['/a', '/b', '/bc']);
    assert.deepEqual(await urls([], '/b'), ['/b', '/bc']);
    assert.deepEqual(await urls([3, 1], ''), ['/bc', '/a']);
    await assert.rejects(urls([9], ''), CallRefused);
  });
});

describe('an import', () => {
  it('adds suitable requests, and reports those left out and those without their secrets', async () => {
    const log = logOf('/old');
    const text = harOf(['/a', '/b?token=[redacted]', '/b c']);
    const { added, warnings } = await importRequests(inspectorOf(log), text, '/b');
    assert.deepEqual(
      added.map(({ id, target, isImported }) => [id, target, isImported]),
      [
        [2, '/b?token=[redacted]', true],
        [3, '/b%20c', true],
      ],
    );
    assert.match(
      warnings.join('\n'),
      /^Some requests contain \[redacted\] instead of a secret\. You can fill in the secret with "culvert inspect edit"/,
    );
  });

  it('accepts 100 requests at a time', async () => {
    const targets = Array.from({ length: IMPORTED_REQUESTS_MAX + 1 }, (_, index) => `/${index}`);
    await assert.rejects(
      importRequests(inspectorOf(logOf()), harOf(targets), ''),
      /101 requests, but only 100 can be imported/,
    );
    const { added } = await importRequests(inspectorOf(logOf()), harOf(targets.slice(1)), '');
    assert.equal(added.length, IMPORTED_REQUESTS_MAX);
  });

  it('accepts a curl command', async () => {
    const log = logOf();
    await importRequests(inspectorOf(log), "curl -d 'a=1' https://elsewhere.example/hook", '');
    assert.deepEqual(
      [log.detail(1)?.request.startLine, log.detail(1)?.status],
      ['POST /hook HTTP/1.1', undefined],
    );
  });
});
