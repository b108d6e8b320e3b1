/**
 * `culvert-relay` on a Node that is new enough: the process as its commands see it. What only `serve` needs is loaded
 * by `serve`.
 */
import { fstatSync, writeSync } from 'node:fs';
import process from 'node:process';
import { isatty } from 'node:tty';
import v8 from 'node:v8';
import { ownCommand } from '../own-program.ts';
import { limitOldGeneration, limitYoungGeneration } from '../../shared/heap.ts';
import { StandardOutput } from '../../shared/standard-output.ts';
import { onStopSignals } from '../../shared/stop-signals.ts';
import type { AccessFile, LogStream } from '../observe/logger.ts';
import { ExitCode, type Shell } from './command.ts';
import { main } from './main.ts';
import {
  givenListeners,
  startDetached,
  startWorker,
  tellServiceManager,
  userName,
  WORKER,
} from './process.ts';

const SECRET_FLAG = /^--(?:bootstrap-key|cluster-secret|database-url|redis-url)/;
// Everybody on the machine may read the process list; a secret given by a flag is removed from it.
if (process.argv.some((argument) => SECRET_FLAG.test(argument))) process.title = 'culvert-relay';

let logStream: LogStream | undefined;
let accessFile: AccessFile | undefined;
let exiting = false;

async function exit(code: number): Promise<never> {
  exiting = true;
  await accessFile?.close();
  if (logStream !== undefined) {
    const { finishLog, systemClock } = await import('./serve.ts');
    await finishLog(logStream, systemClock);
  }
  process.exit(code);
}

const ignore = (): void => {};
const files = { fstatSync, writeSync };
const stdout = new StandardOutput(process.stdout, files);
const stderr = new StandardOutput(process.stderr, files);
/** Determined at the start, because a terminal that was closed is no longer recognized as one. */
const hasTerminal = [0, 1, 2].some((fd) => isatty(fd));

const shell: Shell = {
  env: process.env,
  get user() {
    return userName(process.env);
  },
  get isTerminal() {
    return process.stderr.isTTY;
  },
  out: (line) => stdout.write(`${line}\n`),
  flush: () => stdout.flush(),
  err: (line) => stderr.write(`${line}\n`),
  async startDetached(argv) {
    return await startDetached([...ownCommand(), ...argv], (line) => shell.out(line));
  },
  startWorker: () => startWorker([...ownCommand(), ...process.argv.slice(2)]),
  primary: process.argv.at(-1) === WORKER && process.send !== undefined ? process : undefined,
  listeners: givenListeners(process.env, process.pid),
  tellServiceManager: () => tellServiceManager(process.env, process.pid),
  limitMemory: () => limitYoungGeneration(process, v8.setFlagsFromString),
  limitGrowth: () => limitOldGeneration(process.execArgv, v8),
  async openLog({ level, format = process.stderr.isTTY ? 'pretty' : 'json' }) {
    const { createLog, stderrStream } = await import('./serve.ts');
    const stream = stderrStream();
    logStream = stream;
    return createLog({ level, format }, stream);
  },
  async openAccessLog(place, log) {
    const { AccessFile, createAccessLog, stderrStream, systemClock } = await import('./serve.ts');
    if (place === 'stderr')
      return { write: createAccessLog((logStream ??= stderrStream()), systemClock), reopen: undefined };
    const file = new AccessFile(place.file, systemClock, log);
    accessFile = file;
    return { write: createAccessLog(file, systemClock), reopen: () => void file.reopen() };
  },
  onSignals(listener) {
    const stop = (): void => listener.stop();
    onStopSignals(process, true, {
      stop,
      hangUp: () => (listener.reload ?? (hasTerminal ? stop : ignore))(),
    });
  },
  onCrash(handler) {
    // Replaces Node's own report, which would print secrets that the log never shows.
    process.on('uncaughtException', (error) => {
      if (exiting) process.exit(ExitCode.failed);
      handler(error);
      void exit(ExitCode.failed);
    });
  },
};

const done = main(shell, process.argv.slice(2), async (config, operator, replaces) => {
  const { startRelay } = await import('./serve.ts');
  return await startRelay(config, operator, replaces);
});
void done.then(exit);
