import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readlinkSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { connect, Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { describeOnPosix } from '../../shared/testing/posix.ts';
import { type SharedFolder, shareFolder } from '../client/share/shared-folder.ts';

const VISITS = 2000;
const AT_ONCE = 50;
/** Larger than what the kernel takes of a visitor that reads nothing. */
const LARGE_BYTES = 16 * 1024 * 1024;

describeOnPosix('visitors of a shared folder who leave', () => {
  let root: string;
  let shared: SharedFolder;

  before(async () => {
    root = mkdtempSync(join(tmpdir(), 'culvert-share-'));
    writeFileSync(join(root, 'small.txt'), 'small');
    writeFileSync(join(root, 'large.bin'), Buffer.alloc(LARGE_BYTES));
    shared = await shareFolder(root);
  });

  after(async () => {
    await shared.close();
    rmSync(root, { recursive: true });
  });

  async function ask(name: string, fields = ''): Promise<Socket> {
    const socket = connect(shared.port, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    socket.write(`GET /${name} HTTP/1.1\r\nHost: ${shared.host}\r\n${fields}\r\n`);
    return socket;
  }

  /** Files below the folder that this process has open (proc(5)). */
  function open(): string[] {
    return readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        const path = readlinkSync(`/proc/self/fd/${fd}`);
        return path.startsWith(root) ? [path] : [];
      } catch {
        return [];
      }
    });
  }

  /** Lets the event loop run until no connection is open; the suite's timeout is the limit. */
  async function allClosed(): Promise<void> {
    while (open().length > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  it('leaves no file open and breaks nothing, at whichever moment each connection is reset', async () => {
    for (let visit = 0; visit < VISITS; visit += AT_ONCE) {
      const names = Array.from({ length: AT_ONCE }, (_, index) =>
        index % 2 === 0 ? 'small.txt' : 'large.bin',
      );
      const sockets = await Promise.all(names.map((name) => ask(name)));
      // From before the request is read until after bytes have come: a few turns of the event loop cover each step.
      for (const socket of sockets) {
        socket.resetAndDestroy();
        if (visit % 3 !== 0) await new Promise((resolve) => setImmediate(resolve));
      }
    }
    await allClosed();
    const last = await ask('small.txt', 'Connection: close\r\n');
    assert.match(String(Buffer.concat(await last.toArray())), /small$/);
  });

  it('continues when a connection cannot be accepted', async () => {
    const listening = mock.method(Server.prototype, 'listen');
    const other = await shareFolder(root);
    const server = listening.mock.calls[0]?.this as Server;
    listening.mock.restore();
    server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
    await other.close();
  });

  it('closes the file of a visitor who reads nothing and leaves', async () => {
    const socket = await ask('large.bin');
    await once(socket.pause(), 'readable');
    assert.equal(open().length, 1);
    socket.destroy();
    await allClosed();
  });

  it('closes the files of requests that wait behind one that is never read', async () => {
    const socket = await ask('large.bin');
    socket.write(`GET /large.bin HTTP/1.1\r\nHost: ${shared.host}\r\n\r\n`);
    await once(socket.pause(), 'readable');
    while (open().length < 2) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    await allClosed();
  });

  it('breaks the connection of a visitor whose file gets shorter while it is sent', async () => {
    writeFileSync(join(root, 'shrinking.bin'), Buffer.alloc(LARGE_BYTES));
    const socket = await ask('shrinking.bin');
    await once(socket.pause(), 'readable');
    truncateSync(join(root, 'shrinking.bin'), 0);
    let bytes = 0;
    for await (const piece of socket) bytes += (piece as Buffer).length;
    assert.ok(bytes < LARGE_BYTES);
    await allClosed();
  });
});
