/** Requests a second and latency, with wrk as the load generator. */
import type { Scope } from '../support/scope.ts';
import { startProgram } from '../support/child.ts';

export interface WrkRun {
  readonly port: number;
  /** value of the Host field */
  readonly host: string;
  readonly connections: number;
  /** whether each request closes its connection */
  readonly closing: boolean;
  readonly seconds: number;
  /** requested path; `/` by default */
  readonly path?: string;
  /** whether visitors use TLS, without checking the certificate */
  readonly secure?: boolean;
}

export interface WrkResult {
  readonly requests: number;
  readonly perSecond: number;
  /** ms */
  readonly p50: number;
  /** ms */
  readonly p99: number;
}

/** @throws Error if requests failed, because such a run measures nothing */
export async function wrk(scope: Scope, run: WrkRun): Promise<WrkResult> {
  const close = run.closing ? ['-H', 'Connection: close'] : [];
  const args = ['-t1', `-c${run.connections}`, `-d${run.seconds}s`, '--latency', '--timeout', '10s'];
  const url = `${run.secure === true ? 'https' : 'http'}://127.0.0.1:${run.port}${run.path ?? '/'}`;
  const program = startProgram(scope, 'wrk', [...args, '-H', `Host: ${run.host}`, ...close, url]);
  return parseWrk(await program.finished((run.seconds + 20) * 1000));
}

const MS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000 };

/** Parses the output of wrk. */
export function parseWrk(output: string): WrkResult {
  const value = (pattern: RegExp): RegExpExecArray => {
    const match = pattern.exec(output);
    if (match === null) throw new Error(`no ${pattern} in what wrk said: ${output}`);
    return match;
  };
  const failed = /Non-2xx or 3xx responses: \d+|Socket errors: .*/.exec(output);
  if (failed !== null) throw new Error(`requests failed: ${failed[0]}`);
  const latency = (percent: string): number => {
    const [, number, unit = ''] = value(new RegExp(`^\\s+${percent}%\\s+([\\d.]+)(us|ms|s|m)\\s*$`, 'm'));
    return Number(number) * (MS[unit] ?? NaN);
  };
  return {
    requests: Number(value(/(\d+) requests in/)[1]),
    perSecond: Number(value(/Requests\/sec:\s+([\d.]+)/)[1]),
    p50: latency('50'),
    p99: latency('99'),
  };
}
