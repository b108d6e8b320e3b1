#!/usr/bin/env node
/** The program `culvert-relay`. */
import process from 'node:process';
import { ExitCode, type Shell } from './cli/command.ts';
import { main } from './cli/main.ts';
import { limitOldGeneration } from './cli/old-generation.ts';
import { limitYoungGeneration } from './cli/young-generation.ts';
import { systemClock } from './clock.ts';
import { AccessFile } from './observe/access-file.ts';
import { createAccessLog } from './observe/access-log.ts';
import { createLog, finishLog, type LogStream, stderrStream } from './observe/logger.ts';
import { startRelay } from './relay.ts';

const SECRET_FLAG = /^--(?:bootstrap-key|cluster-secret|database-url|redis-url)/;
// Everybody on the machine may read the process list; a secret that a flag gave is not left there.
if (process.argv.some((argument) => SECRET_FLAG.test(argument))) process.title = 'culvert-relay';

let logStream: LogStream | undefined;
let accessFile: AccessFile | undefined;
let exiting = false;

async function exit(code: number): Promise<never> {
  exiting = true;
  await accessFile?.close();
  if (logStream !== undefined) await finishLog(logStream, systemClock);
  process.exit(code);
}

const shell: Shell = {
  env: process.env,
  isTerminal: process.stderr.isTTY,
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  limitMemory() {
    limitYoungGeneration(process);
    limitOldGeneration(process.execArgv);
  },
  openLog({ level, format = process.stderr.isTTY ? 'pretty' : 'json' }) {
    const stream = stderrStream();
    logStream = stream;
    return createLog({ level, format }, stream);
  },
  openAccessLog(place, log) {
    if (place === 'stderr')
      return { write: createAccessLog((logStream ??= stderrStream()), systemClock), reopen: undefined };
    const file = new AccessFile(place.file, systemClock, log);
    accessFile = file;
    return { write: createAccessLog(file, systemClock), reopen: () => void file.reopen() };
  },
  onStopSignal(handler) {
    process.on('SIGTERM', handler);
    process.on('SIGINT', handler);
  },
  onReloadSignal(handler) {
    process.on('SIGHUP', handler);
  },
  onCrash(handler) {
    // In place of Node's own report, which would show what the log never does.
    process.on('uncaughtException', (error) => {
      if (exiting) process.exit(ExitCode.failed);
      handler(error);
      void exit(ExitCode.failed);
    });
  },
};

// Whoever reads the output may leave before the relay does.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

await exit(await main(shell, process.argv.slice(2), startRelay));
