/** `culvert doctor`: checks every step from this machine to a local port, through the relay, and names the hop that fails. */
import type { Upstream } from '../../../shared/value-rules.ts';
import {
  checkKey,
  checkProtected,
  findRelay,
  type FoundRelay,
  readNetwork,
  type RelayAccess,
} from '../../client/config/relay-access.ts';
import { HopFailure, type HopResult, type Subject } from '../../client/diagnostics/hop.ts';
import { ExitCode, UsageError } from '../../client/failures.ts';
import { localPort } from '../../client/local/local-service.ts';
import { textOf } from '../../client/messages.ts';
import type { Network } from '../../client/network/network.ts';
import { type CommandContext, type AnyLine, defineCommand } from '../command-line/command.ts';
import { jsonLine } from '../output/format.ts';
import { COMMON } from '../command-line/options.ts';
import { parseTarget, readUpstream, type Target } from '../command-line/parse.ts';

const NAME_COLUMNS = 9;
const TIME_COLUMNS = 8;
const NO_KEY = 'Run "culvert login", or set CULVERT_API_KEY.';

interface GivenDoctor extends FoundRelay {
  /** the local service to check; `undefined` for none */
  readonly target: (Target & { readonly upstream: Upstream }) | undefined;
  readonly network: Network;
  readonly json: boolean;
}

export const doctorCommand = defineCommand({
  name: 'doctor',
  operands: { port: { shown: '[PORT]', count: 'optional' } },
  summary: 'Find out why a tunnel does not work',
  options: { 'Local service': ['upstream'], ...COMMON },
  examples: {
    'culvert doctor': 'check the connection to the relay',
    'culvert doctor 3000': 'also check that port 3000 accepts connections',
    'culvert doctor 50051 --upstream h2c': 'also check that it speaks HTTP/2',
  },
  details: `
    The command runs the checks below one after another and shows how long each one takes. At the first failure, it
    stops and suggests a fix. It also opens a test tunnel for up to a minute, which counts towards the rate limit for
    new tunnels.`,
  sections: {
    Checks: `dns      the relay's host name resolves
connect  the relay's port accepts connections
tls      the relay's certificate is trusted and matches its host name
relay    the server is a Culvert relay that is ready to serve
key      the relay accepts the API key
control  a test tunnel comes online
data     a request reaches the test tunnel at its path address
address  a request reaches the test tunnel at its public address, so wildcard DNS and the certificate work
trunk    several visitors can share one connection. If this fails, tunnels still work, but more slowly
compress responses are compressed by default. Skipped if the relay is on this machine or in a private network
tcp      which congestion control this machine uses (Linux only). It affects the speed over lines that lose packets
local    PORT accepts connections, and speaks HTTP/2 if you use --upstream h2c or h2. This check sends no request, so it
         also suits TLS and TCP tunnels. It runs even if an earlier check failed
`,
  },
  read: (line) => readDoctor(line, line.operands.port),
  run: runDoctor,
});

function readDoctor(line: AnyLine, port: string | undefined): GivenDoctor {
  const sources = line.accessSources();
  const found = findRelay(sources);
  if (found.key !== undefined) checkProtected(found.relay, found.relayFrom, line.values.insecure);
  return {
    target: port === undefined ? undefined : readTarget(port, line),
    ...found,
    network: readNetwork(sources, found.relay, found.ca),
    json: line.values.json ?? false,
  };
}

/** @throws UsageError */
function readTarget(port: string, { values }: AnyLine): GivenDoctor['target'] {
  const target = parseTarget(port);
  return { ...target, upstream: readUpstream(values, target.https) };
}

/** @returns 0 when nothing has failed, else 1 */
async function runDoctor(command: GivenDoctor, { output, interruptible }: CommandContext): Promise<ExitCode> {
  const { diagnose } = await import('../../client/diagnostics/diagnose.ts');
  const interrupted = interruptible();
  if (!command.json) output.out(`Relay ${command.relay.origin}, from ${command.relayFrom}\n`);
  const failed: string[] = [];
  await diagnose(subjectOf(command), interrupted, (result) => {
    if (result.result === 'failed') failed.push(result.hop);
    output.out(command.json ? jsonLine(inEnglish(result)) : resultLines(inEnglish(result)));
  });
  if (interrupted.aborted) return ExitCode.failed;
  if (!command.json) {
    output.out(failed.length === 0 ? 'Everything works.\n' : `Failed: ${failed.join(', ')}.\n`);
  }
  return failed.length === 0 ? ExitCode.ok : ExitCode.failed;
}

/** A result as the command prints it. */
type EnglishResult = HopResult & { readonly detail: string; readonly fix?: string };

function inEnglish({ fix, ...result }: HopResult): EnglishResult {
  return { ...result, detail: textOf(result.detail), ...(fix === undefined ? {} : { fix: textOf(fix) }) };
}

function resultLines({ hop, result, ms, detail, fix }: EnglishResult): string {
  const mark = { ok: '✓', failed: '✗', skipped: '-' }[result];
  const time = result === 'skipped' ? '' : `${ms} ms`;
  const line = `${mark} ${hop.padEnd(NAME_COLUMNS)}${time.padStart(TIME_COLUMNS)}  ${detail}\n`;
  return fix === undefined ? line : `${line}  ${' '.repeat(NAME_COLUMNS + TIME_COLUMNS)}  ${fix}\n`;
}

/** The results for a program that has a relay and a key. @param port of the local service to check */
export async function diagnoseRelay(
  access: RelayAccess,
  port: number | undefined,
  interrupted: AbortSignal,
): Promise<readonly EnglishResult[]> {
  const { diagnose } = await import('../../client/diagnostics/diagnose.ts');
  const target =
    port === undefined ? undefined : { port, host: 'localhost', https: false, upstream: 'http1' as const };
  const from = { relayFrom: 'culvert mcp', keyFrom: 'culvert mcp' };
  const results: EnglishResult[] = [];
  await diagnose(subjectOf({ ...access, ...from, target }), interrupted, (result) => {
    results.push(inEnglish(result));
  });
  return results;
}

function subjectOf(command: Omit<GivenDoctor, 'ca' | 'json'>): Subject {
  const { target } = command;
  return {
    ...command,
    local: target === undefined ? undefined : { ...localPort(target.port), ...target },
    requireKey: () => requireKey(command),
    remedies: {
      noKey: NO_KEY,
      badKey: 'Run "culvert login" with a valid key.',
      certificate:
        'Renew the certificate. If it was signed by your own authority, use --ca FILE or CULVERT_CA. For a relay without TLS, use http://.',
      noLocal: 'run "culvert doctor PORT" to check it',
      local: 'Start the service there, or use the port that it prints when it starts.',
    },
  };
}

function requireKey({ key = '' }: Pick<GivenDoctor, 'key'>): string {
  try {
    return checkKey(key);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new HopFailure(error.message, NO_KEY);
  }
}
