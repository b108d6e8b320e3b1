/** `culvert-relay serve`: runs the relay until a signal ends it (contract.md, Programs). */
import type { Config } from '../config.ts';
import { STOP_DEADLINE_MS } from '../limits.ts';
import { describeError } from '../log.ts';
import type { RunningRelay } from '../relay.ts';
import { CommandError, ExitCode, type Shell } from './command.ts';

export type StartRelay = (config: Config) => Promise<RunningRelay>;

/**
 * Runs the relay. The first signal stops it in order, a second one at once.
 *
 * @returns the exit code, once the relay has ended
 * @throws CommandError when it cannot start
 */
export async function serve(shell: Shell, config: Config, startRelay: StartRelay): Promise<number> {
  const relay = await start(config, startRelay);
  const ended = untilEnded(shell, relay);
  shell.out(`listening on ${relay.url}`);
  return ended;
}

function untilEnded(shell: Shell, relay: RunningRelay): Promise<number> {
  return new Promise((resolve) => {
    let signals = 0;
    shell.onStopSignal(() => {
      signals += 1;
      if (signals === 1) {
        stopInOrder(shell, relay).then(resolve, resolve);
        return;
      }
      relay.abort();
      resolve(ExitCode.failed);
    });
  });
}

async function stopInOrder(shell: Shell, relay: RunningRelay): Promise<number> {
  try {
    await relay.stop(STOP_DEADLINE_MS);
    return ExitCode.ok;
  } catch (error) {
    shell.err(`the relay did not stop in order: ${describeError(error)}`);
    return ExitCode.failed;
  }
}

async function start(config: Config, startRelay: StartRelay): Promise<RunningRelay> {
  try {
    return await startRelay(config);
  } catch (error) {
    throw new CommandError(ExitCode.failed, [whyNotStarted(error, config)]);
  }
}

function whyNotStarted(error: unknown, { host, port }: Config): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'EADDRINUSE':
      return `cannot listen on ${host} port ${port}: another program uses it; choose another with --port`;
    case 'EACCES':
      return `cannot listen on ${host} port ${port}: this user may not; choose a port above 1023 with --port`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `cannot listen on ${host}: this machine has no such address; choose another with --host`;
    default:
      return `the relay cannot start: ${describeError(error)}`;
  }
}
