#!/usr/bin/env node
/** The program `culvert-relay`. */
import process from 'node:process';
import type { Shell } from './cli/command.ts';
import { main } from './cli/main.ts';
import { createLog, stderrStream } from './observe/logger.ts';
import { startRelay } from './relay.ts';

const shell: Shell = {
  env: process.env,
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  openLog({ level, format = process.stderr.isTTY ? 'pretty' : 'json' }) {
    return createLog({ level, format }, stderrStream());
  },
  onStopSignal(handler) {
    process.on('SIGTERM', handler);
    process.on('SIGINT', handler);
  },
  onReloadSignal(handler) {
    process.on('SIGHUP', handler);
  },
};

// Whoever reads the output may leave before the relay does.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

process.exit(await main(shell, process.argv.slice(2), startRelay));
