/** `culvert doctor`: checks every step from this machine to a local port, through the relay, and names the hop that fails. */
import { checkKey } from '../relay-access.ts';
import type { DoctorCommand } from '../arguments.ts';
import { ExitCode } from '../exit-code.ts';
import { jsonLine } from '../json-line.ts';
import type { Output } from '../reporter.ts';
import { UsageError } from '../usage-error.ts';
import { checkHops, HopFailure, type HopResult } from './hop.ts';
import { localHop } from './local-hop.ts';
import { relayHops } from './relay-hops.ts';
import { TunnelHops } from './tunnel-hops.ts';

const NAME_COLUMNS = 9;
const TIME_COLUMNS = 8;

/** @returns 0 when nothing has failed, else 1 */
export async function runDoctor(
  command: DoctorCommand,
  output: Output,
  interrupted: AbortSignal,
): Promise<ExitCode> {
  const tunnel = new TunnelHops(() => ({ ...command, key: requireKey(command) }));
  const hops = [...relayHops(command), ...tunnel.hops, localHop(command.port)];
  if (!command.json) output.out(`Relay ${command.relay.origin}, from ${command.relayFrom}\n`);
  const failed: string[] = [];
  try {
    await checkHops(
      hops,
      () => performance.now(),
      interrupted,
      (result) => {
        if (result.result === 'failed') failed.push(result.hop);
        output.out(command.json ? jsonLine(result) : resultLines(result));
      },
    );
  } finally {
    await tunnel.close();
  }
  if (interrupted.aborted) return ExitCode.failed;
  if (!command.json) {
    output.out(failed.length === 0 ? 'Everything works.\n' : `It stops at: ${failed.join(', ')}.\n`);
  }
  return failed.length === 0 ? ExitCode.ok : ExitCode.failed;
}

function resultLines({ hop, result, ms, detail, fix }: HopResult): string {
  const mark = { ok: '✓', failed: '✗', skipped: '-' }[result];
  const time = result === 'skipped' ? '' : `${ms} ms`;
  const line = `${mark} ${hop.padEnd(NAME_COLUMNS)}${time.padStart(TIME_COLUMNS)}  ${detail}\n`;
  return fix === undefined ? line : `${line}  ${' '.repeat(NAME_COLUMNS + TIME_COLUMNS)}  ${fix}\n`;
}

function requireKey({ key = '' }: DoctorCommand): string {
  try {
    return checkKey(key);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new HopFailure(error.message, 'Run "culvert login", or set CULVERT_API_KEY.');
  }
}
