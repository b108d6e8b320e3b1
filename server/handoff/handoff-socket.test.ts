import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { mock } from 'node:test';
import { describeOnPosix } from '../../shared/testing/posix.ts';
import { temporaryDirectory } from '../../shared/testing/temporary-directory.ts';
import type { Hello } from './conversation.ts';
import { HANDOFF_HELLO_MS, HandoffSocket, handoffSocketPath, meet } from './handoff-socket.ts';

const HELLO: Hello = { kind: 'listeners' };

describeOnPosix('a meeting point', () => {
  let folder: string;
  let path: string;
  let heard: Hello[];
  let points: HandoffSocket[];

  beforeEach(() => {
    folder = temporaryDirectory();
    path = handoffSocketPath(folder, 8080);
    heard = [];
    points = [];
  });

  afterEach(() => {
    for (const point of points) point.close(false);
  });

  async function open(): Promise<HandoffSocket> {
    const point = await HandoffSocket.open(path, (hello, socket) => {
      heard.push(hello);
      socket.resume().on('end', () => socket.end('bye'));
    });
    points.push(point);
    return point;
  }

  async function say(): Promise<string> {
    const socket = await meet(path, HELLO);
    assert.ok(socket);
    socket.end();
    const [answer] = (await once(socket.resume(), 'data')) as [Buffer];
    return String(answer);
  }

  it('is reachable at its path, by its own user only, without any other file', async () => {
    await open();
    assert.equal(await say(), 'bye');
    assert.deepEqual(heard, [HELLO]);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(folder), ['relay-8080.sock']);
  });

  it('replaces another one, which no longer removes it', async () => {
    const before = await open();
    await open();
    before.close(true);
    assert.equal(await say(), 'bye');
  });

  it('does not exist before it is opened and after it is closed', async () => {
    assert.equal(await meet(path, HELLO), undefined);
    (await open()).close(false);
    assert.equal(await meet(path, HELLO), undefined);
    assert.deepEqual(readdirSync(folder), []);
  });

  it('reports a path that is too long for a socket', async () => {
    const deep = join(folder, 'x'.repeat(100));
    mkdirSync(deep);
    await assert.rejects(
      HandoffSocket.open(handoffSocketPath(deep, 8080), () => {}),
      /too long for a socket/,
    );
    assert.deepEqual(readdirSync(deep), []);
  });

  it('drops connections that send nothing for 5 s, or an unknown line', async () => {
    await open();
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const silent = connect(path);
      await once(silent, 'connect');
      const closed = once(silent.resume(), 'close');
      // Already accepted, in the same process.
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      mock.timers.tick(HANDOFF_HELLO_MS);
      await closed;
    } finally {
      mock.timers.reset();
    }
    const stranger = connect(path);
    stranger.write('GET / HTTP/1.1\r\n');
    await once(stranger.resume(), 'close');
    assert.deepEqual(heard, []);
  });
});
