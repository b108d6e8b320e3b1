import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { FakeClock } from '../../testing/fake-clock.ts';
import {
  FOLDER_ANSWER_MS,
  folderHandler,
  FolderLooks,
  FolderSilent,
  SILENT_FOLDERS_MAX,
} from './folder-handler.ts';
import { FolderUnreadable, locateFolder } from './shared-folder.ts';

describe('FolderLooks', () => {
  it('gives up when nothing answers, and clears its timer when something does', async () => {
    const clock = new FakeClock();
    const looks = new FolderLooks(clock);
    assert.equal(await looks.take(() => Promise.resolve('here')), 'here');
    await assert.rejects(
      looks.take(() => Promise.reject(new Error('EIO'))),
      /EIO/,
    );
    assert.equal(clock.waiting.length, 0);
    const never = looks.take(() => new Promise(() => {}));
    clock.advance(FOLDER_ANSWER_MS - 1);
    assert.equal(clock.waiting.length, 1);
    clock.advance(1);
    await assert.rejects(never, FolderSilent);
  });

  it('releases a late result after giving up', async () => {
    const clock = new FakeClock();
    const looks = new FolderLooks(clock);
    const slow = Promise.withResolvers<string>();
    const freed = Promise.withResolvers<string>();
    const given = looks.take(() => slow.promise, freed.resolve);
    clock.advance(FOLDER_ANSWER_MS);
    await assert.rejects(given, FolderSilent);
    slow.resolve('a file');
    assert.equal(await freed.promise, 'a file');
  });

  it('leaves threads for the rest of the app, no matter how many folders are silent', async () => {
    const clock = new FakeClock();
    const looks = new FolderLooks(clock);
    const slow = Array.from({ length: SILENT_FOLDERS_MAX }, () => Promise.withResolvers<string>());
    const asked = slow.map(({ promise }) => looks.take(() => promise));
    clock.advance(FOLDER_ANSWER_MS);
    await Promise.all(asked.map((one) => assert.rejects(one, FolderSilent)));
    await assert.rejects(
      looks.take(() => assert.fail('looks all the same')),
      FolderSilent,
    );
    // The server is back.
    slow[0]?.resolve('here');
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await looks.take(() => Promise.resolve('again')), 'again');
  });

  it('times out for visitors as well', async () => {
    const silent = { take: () => Promise.reject(new FolderSilent()) };
    const server = createServer(folderHandler({ path: tmpdir() }, 'shared.test', silent));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const asked = get({ host: '127.0.0.1', port, headers: { host: 'shared.test' } });
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      assert.deepEqual([response.statusCode, await text(response)], [503, 'The folder does not respond\n']);
      const headers = { host: 'shared.test', accept: 'text/html' };
      const opened = get({ host: '127.0.0.1', port, headers });
      const [page] = (await once(opened, 'response')) as [IncomingMessage];
      assert.deepEqual([page.statusCode, page.headers['refresh']], [503, '10']);
      assert.match(await text(page), /does not respond right now\..*tries again every 10 seconds/s);
    } finally {
      server.close();
    }
  });

  it('reports a silent folder in words', async () => {
    const silent = { take: () => Promise.reject(new FolderSilent()) };
    await assert.rejects(
      locateFolder(tmpdir(), silent),
      (error) =>
        error instanceof FolderUnreadable && /is not responding\. Its drive or server/.test(error.message),
    );
  });
});
