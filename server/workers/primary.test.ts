import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { temporaryDirectory } from '../../shared/testing/temporary-directory.ts';
import { loadConfig } from '../config.ts';
import { OtherAddressError } from '../listeners.ts';
import { systemFailureOf } from './messages.ts';
import { startPrimary } from './primary.ts';

/** A worker that serves nobody, and ends when it is asked to. */
const WORKER = `process.on('message', ({ kind }) => {
  if (kind === 'start') process.send({ kind: 'serving', url: 'http://127.0.0.1:1', port: 1 });
  if (kind === 'stop') process.exit();
});`;

/** One that cannot serve. */
const refusing = (error: Error): string => `process.once('message', () =>
  process.send({ kind: 'refused', failure: ${JSON.stringify(systemFailureOf(error))} }, () => process.exit(1)));`;

function start(program: string, script = WORKER): ChildProcess {
  return spawn(program, ['-e', script], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
}

describe('the first process of a relay', () => {
  let logged: string[];

  beforeEach(() => (logged = []));

  async function startRelay(startWorker: () => ChildProcess) {
    const loaded = loadConfig({ CULVERT_WORKERS: '2', CULVERT_DATA_DIR: temporaryDirectory() }, []);
    assert.ok('config' in loaded);
    return await startPrimary(
      loaded.config,
      {
        log: (event) => void logged.push(event),
        accessLog: undefined,
        tell: undefined,
        listeners: new Map(),
        announce: () => Promise.resolve(),
        commit: () => Promise.resolve(),
        startWorker,
        primary: undefined,
      },
      undefined,
    );
  }

  it('fails if the others cannot be started', async () => {
    const missing = join(temporaryDirectory(), 'missing');
    await assert.rejects(
      startRelay(() => start(missing)),
      /a process of the relay ended at its start/,
    );
  });

  it('fails with the error of one that cannot serve, which tells the exit code', async () => {
    const [here, there] = [
      { host: '::', port: 1 },
      { host: '::', port: 2 },
    ] as const;
    const error = new OtherAddressError('visitors', here, there);
    await assert.rejects(
      startRelay(() => start(process.execPath, refusing(error))),
      (thrown: unknown) => OtherAddressError.is(thrown) && thrown.message === error.message,
    );
  });

  it('starts one instead of a lost one as soon as that is possible, and stops in the meantime', async () => {
    const started: ChildProcess[] = [];
    const again = Promise.withResolvers<void>();
    const ways = [
      () => start(process.execPath),
      () => start(process.execPath),
      () => {
        throw new Error('no memory');
      },
      () => start(join(temporaryDirectory(), 'missing')),
      () => start(process.execPath, refusing(new Error('no room'))),
    ];
    const relay = await startRelay(() => {
      const way = ways.shift() ?? (() => (again.resolve(), start(process.execPath)));
      const child = way();
      started.push(child);
      return child;
    });
    started[0]?.kill('SIGKILL');
    await again.promise;
    assert.deepEqual(
      logged.filter((event) => event.startsWith('worker') || event.startsWith('internal')),
      ['worker lost', 'internal error', 'worker lost', 'internal error', 'worker lost'],
    );
    await relay.stop(0);
    assert.deepEqual(
      started.map(({ exitCode, signalCode }) => exitCode ?? signalCode),
      ['SIGKILL', 0, -2, 1, 0],
    );
  });
});
