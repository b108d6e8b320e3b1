/** Checks that main registers and the bundled preload exposes exactly the channels of the table, and that all are validated. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPreload } from '../../build/build.ts';
import { FakeIpc, fakeFrame, loadBundle } from '../../testing/fake-electron.ts';
import { fakeSystem } from '../../testing/fake-platform.ts';
import { type Answer, PUSHES } from '../ipc/ipc.ts';
import { createCore } from './core.ts';
import { PAGE_URL, registerChannels } from './electron/main-window.ts';
import { CHANNEL_NAMES } from './handlers/channels.ts';

interface Bridge {
  call(channel: string, payload?: unknown): Promise<Answer<unknown>>;
  drop(files: readonly unknown[]): Promise<Answer<unknown>>;
  on(push: string, listener: (...values: unknown[]) => void): () => void;
}

/** A payload that no channel accepts. */
const BAD = { port: -1, key: 7, id: 0, theme: 'pink', relay: '', unknown: true };
const OURS = fakeFrame(PAGE_URL);

describe('the contract between page and main', () => {
  let directory: string;
  let preload: string;
  let ipc: FakeIpc;
  let bugs: string[];

  before(async function () {
    directory = await mkdtemp(join(tmpdir(), 'culvert-preload-'));
    preload = join(directory, 'preload.cjs');
    await buildPreload(preload);
  });

  after(() => rm(directory, { recursive: true, force: true }));

  beforeEach(async () => {
    ipc = new FakeIpc();
    ipc.frame = OURS;
    bugs = [];
    const core = await createCore(fakeSystem().platform);
    registerChannels({
      ipc: ipc.main,
      core,
      mainFrame: () => OURS,
      reportBug: (channel) => bugs.push(channel),
    });
  });

  function expose(): Bridge {
    const exposed = new Map<string, unknown>();
    loadBundle(preload, {
      contextBridge: { exposeInMainWorld: (name: string, value: unknown) => exposed.set(name, value) },
      ipcRenderer: ipc.renderer,
      webUtils: { getPathForFile: (file: string) => `/nowhere/${file}` },
    });
    assert.deepEqual([...exposed.keys()], ['culvert']);
    const bridge = exposed.get('culvert') as Bridge;
    assert.deepEqual(Object.keys(bridge).sort(), ['call', 'drop', 'on']);
    return bridge;
  }

  it('registers every channel of the table, and no others', () => {
    assert.deepEqual([...ipc.handlers.keys()].sort(), [...CHANNEL_NAMES].sort());
  });

  it('exposes every channel of the table, and no others', async () => {
    const bridge = expose();
    for (const name of CHANNEL_NAMES.filter((other) => other !== 'folder:drop')) {
      const answer = await bridge.call(name, BAD);
      assert.equal(answer.ok, false, name);
    }
    for (const name of ['no:such', 'toString', '__proto__', 'ELECTRON_BROWSER_REQUIRE']) {
      await assert.rejects(bridge.call(name), TypeError);
    }
  });

  it('gets the path of a dropped file only from the system', async () => {
    const bridge = expose();
    assert.deepEqual(await bridge.drop(['a', 'b', 'c']), { ok: true, value: undefined });
    assert.deepEqual(bugs, []);
    await assert.rejects(bridge.call('folder:drop', { paths: ['/'] }), TypeError);
  });

  it('passes pushes of main to listeners, without the event, until they stop', () => {
    const bridge = expose();
    for (const name of Object.keys(PUSHES)) {
      const seen: unknown[][] = [];
      const stop = bridge.on(name, (...values) => void seen.push(values));
      ipc.send(name, 1);
      stop();
      ipc.send(name, 2);
      assert.deepEqual(seen, [[1]]);
    }
    assert.throws(() => bridge.on('no:such', () => {}), TypeError);
  });

  for (const channel of CHANNEL_NAMES) {
    it(`${channel} rejects a foreign sender`, async () => {
      const foreign = [null, fakeFrame(PAGE_URL), fakeFrame('https://evil.example/')];
      for (const frame of foreign) {
        ipc.frame = frame;
        assert.equal(codeOf(await ipc.invoke(channel, undefined)), 'foreign-sender');
      }
    });

    it(`${channel} rejects an invalid payload`, async () => {
      for (const payload of [BAD, 'text', 7, [], null]) {
        assert.equal(codeOf(await ipc.invoke(channel, payload)), 'bad-payload', JSON.stringify(payload));
      }
    });
  }

  it('rejects our own frame once it shows another page', async () => {
    const moved = fakeFrame('https://evil.example/');
    const other = new FakeIpc();
    other.frame = moved;
    const core = await createCore(fakeSystem().platform);
    registerChannels({ ipc: other.main, core, mainFrame: () => moved, reportBug: () => {} });
    assert.equal(codeOf(await other.invoke('snapshot:get', undefined)), 'foreign-sender');
  });

  it('answers a valid call', async () => {
    const answer = (await expose().call('snapshot:get')) as Answer<{ tunnels: unknown[] }>;
    assert.ok(answer.ok);
    assert.deepEqual(answer.value.tunnels, []);
  });

  it('names the invalid field', async () => {
    const form = { port: 0, name: '', ttl: '', idle: false, hostHeader: 'keep', lock: { kind: 'anyone' } };
    const fields: Record<string, object> = {
      port: form,
      name: { ...form, port: 1, name: 'No' },
      ttl: { ...form, port: 1, ttl: 'soon' },
      hostHeader: { ...form, port: 1, hostHeader: 'a b' },
      'lock.kind': { ...form, port: 1, lock: { kind: 'nobody' } },
      'lock.password': { ...form, port: 1, lock: { kind: 'password', password: 'abc' } },
      'lock.allow': { ...form, port: 1, lock: { kind: 'addresses', allow: [] } },
      'lock.allow[0]': { ...form, port: 1, lock: { kind: 'addresses', allow: ['10.0.0.0/33'] } },
    };
    for (const [field, payload] of Object.entries(fields)) {
      const answer = (await ipc.invoke('tunnel:create', payload)) as Answer<never>;
      assert.equal(!answer.ok && answer.error.field, field);
    }
  });

  it('reports a bug to the page without its details', async () => {
    const core = await createCore({
      ...fakeSystem().platform,
      get about(): never {
        throw new Error('secret');
      },
    });
    const other = new FakeIpc();
    other.frame = OURS;
    registerChannels({
      ipc: other.main,
      core,
      mainFrame: () => OURS,
      reportBug: (channel) => bugs.push(channel),
    });
    const answer = await other.invoke('app:about', undefined);
    assert.equal(codeOf(answer), 'internal');
    assert.ok(!JSON.stringify(answer).includes('secret'));
    assert.deepEqual(bugs, ['app:about']);
  });
});

function codeOf(answer: unknown): string | undefined {
  const { ok, error } = answer as { ok: boolean; error?: { code: string } };
  return ok ? undefined : error?.code;
}
