import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RequestLog } from '../../engine/inspector/request-log.ts';
import type { Har } from '../../engine/inspector/transfer/har.ts';
import { failsWith } from '../../testing/core-app.ts';
import { HAR_MAX_BYTES } from '../limits.ts';
import { exportHar } from './export-har.ts';

const TUNNEL = { slug: '../Shop-1', public_url: 'https://shop.example/' };

/** A log with these requests, as the window asks for them. */
function logOf(...requests: readonly string[]) {
  const log = new RequestLog();
  for (const request of requests) log.open().toLocal(Buffer.from(request));
  return { detail: (id: number, reveal: boolean) => log.detail(id, { reveal }) };
}

describe('a HAR that the window exports', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'culvert-har-'));
  });

  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  function toFile(name: string) {
    const offered: string[] = [];
    const path = join(directory, name);
    const chooseFileToWrite = (text: string): Promise<string> => {
      offered.push(text);
      return Promise.resolve(path);
    };
    const read = (): Har => JSON.parse(readFileSync(path, 'utf8')) as Har;
    return { offered, path, read, chooseFileToWrite };
  }

  const SECRET = 'GET /b?token=s3cret HTTP/1.1\r\nHost: x\r\n\r\n';

  it('has the chosen requests, oldest first, in a file that only its owner can read', async () => {
    const log = logOf('GET /a HTTP/1.1\r\nHost: x\r\n\r\n', SECRET, 'GET /c HTTP/1.1\r\nHost: x\r\n\r\n');
    const file = toFile('some.har');
    const written = await exportHar({ log, tunnel: TUNNEL }, [7, 2, 1], false, file);
    assert.deepEqual(written, { path: file.path, count: 2, missing: 1, hidesSecrets: true });
    assert.deepEqual(
      file.read().log.entries.map(({ request }) => request.url),
      ['https://shop.example/a', 'https://shop.example/b?token=[redacted]'],
    );
    assert.deepEqual(file.offered, ['hop-1.har']);
    if (process.platform !== 'win32') assert.equal(statSync(file.path).mode & 0o777, 0o600);
  });

  it('has secrets once they are shown', async () => {
    const file = toFile('one.har');
    const written = await exportHar({ log: logOf(SECRET), tunnel: TUNNEL }, [1], true, file);
    assert.equal(written?.hidesSecrets, false);
    assert.equal(file.read().log.entries[0]?.request.url, 'https://shop.example/b?token=s3cret');
  });

  it('is not written if the user does not name a file', async () => {
    const never = { chooseFileToWrite: () => Promise.resolve(undefined) };
    assert.equal(await exportHar({ log: logOf(SECRET), tunnel: TUNNEL }, [1], false, never), undefined);
  });

  it('says why it cannot be written', async () => {
    const nowhere = toFile('');
    const exported = { log: logOf(SECRET), tunnel: TUNNEL };
    await assert.rejects(exportHar(exported, [1], false, nowhere), failsWith('not-written'));
    await assert.rejects(exportHar(exported, [9], false, nowhere), failsWith('no-such-request'));
    assert.equal(nowhere.offered.length, 1);
  });

  it('takes 32 MiB, and no more', async () => {
    const detail = logOf(SECRET).detail(1, true) ?? assert.fail('the request was not recorded');
    const body = new Uint8Array(1024 * 1024).fill(0x61);
    const log = { detail: (id: number) => ({ ...detail, id, request: { ...detail.request, body } }) };
    const file = toFile('large.har');
    const ids = Array.from({ length: HAR_MAX_BYTES / body.length }, (_, index) => index + 1);
    const tunnel = { ...TUNNEL };
    await assert.rejects(
      exportHar({ log, tunnel }, ids, false, file),
      /at most 32 MiB, as much as the first 31/,
    );
    const written = await exportHar({ log, tunnel }, ids.slice(1), false, file);
    assert.equal(written?.count, 31);
  });
});
