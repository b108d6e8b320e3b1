/** Runs `culvert run` in a process: the tunnel first, then the command, then the end of both. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { isatty } from 'node:tty';
import type { Tunnel } from '../../shared/tunnel.ts';
import { systemClock } from '../client/clock.ts';
import { claimNames, type Prompt } from '../client/config/relay-access.ts';
import type { TunnelSpec } from '../client/config/tunnel-spec.ts';
import { UsageError } from '../client/failures.ts';
import { RequestLog } from '../client/inspector/request-log.ts';
import { ApiClient, type CreateRequest } from '../client/relay/api-client.ts';
import { RelayRefusal } from '../client/relay/errors.ts';
import { exitCodeFor, ChildCommand, PASSED_SIGNALS, type PassedSignal } from './child-command.ts';
import type { CommandContext } from './command.ts';
import { jsonLine } from './format.ts';
import { commandEnvironment, planCommand } from './frameworks.ts';
import { openAddress } from './prompt.ts';
import { findPackage, projectName } from './project-name.ts';
import { type EndReason, type Output, type Reporter, TextReporter } from './reporter.ts';
import type { RunTunnel } from './run-command.ts';
import { completeTunnels, CreateQueue } from './run-tunnels.ts';
import { Inspection, serveTunnel } from './serve-tunnel.ts';
import { doOnceOnline } from './view/once-online.ts';

/**
 * Opens the tunnel, starts the command once visitors can reach it, and closes the tunnel when the command has ended.
 *
 * @returns the command's exit code, or that of the tunnel if the command was not started
 * @throws UsageError
 */
export async function runWithTunnel(given: RunTunnel, context: CommandContext): Promise<number> {
  const { output } = context;
  const clock = systemClock;
  // Nobody reads it any more; the command goes on.
  process.stderr.on('error', () => {});
  const say = (text: string): void => output.err(`culvert: ${text}\n`);
  const folder = process.cwd();
  const plan = planCommand(given.command, findPackage(folder));
  const port = await choosePort(given.port ?? plan.ownPort);
  const { tunnels } = await completeTunnels(given, promptOf(context), output);
  const derived = given.tunnel.name === undefined && given.tunnel.domain === undefined ? projectName(folder) : undefined;
  const api = new ApiClient(given.relay, given.key, given.network);
  const wantedName = given.tunnel.name ?? derived;
  const claims = await claimNames(
    api,
    wantedName === undefined ? [] : [wantedName],
    derived === undefined && !given.json ? askable(context) : undefined,
  );
  const claim = wantedName === undefined ? undefined : claims.get(wantedName);
  const isTaken = derived !== undefined && claim === 'leave';
  const [asked] = tunnels;
  if (asked === undefined) throw new UsageError('There is no tunnel to open.');
  const spec: TunnelSpec = {
    ...asked,
    port,
    name: isTaken ? undefined : wantedName,
    hostHeader: plan.isLocalOnly && !given.hasHostHeader ? 'local' : asked.hostHeader,
  };

  const stop = new AbortController();
  let child: ChildCommand | undefined;
  let stoppedBy: PassedSignal | undefined;
  const onSignal = (signal: PassedSignal): void => {
    if (child !== undefined) return child.pass(signal);
    if (signal === 'SIGWINCH' || signal === 'SIGCONT') return;
    if (stop.signal.aborted) process.exit(exitCodeFor(null, signal));
    stoppedBy = signal;
    stop.abort();
  };
  for (const signal of PASSED_SIGNALS) process.on(signal, () => onSignal(signal));
  // On Windows, the console tells the command itself; this process has to outlive it.
  if (PASSED_SIGNALS.length === 0) process.on('SIGINT', () => child ?? stop.abort());

  let commandEnded: Promise<number> | undefined;
  const start = ({ public_url }: Tunnel): void => {
    if (child !== undefined || stop.signal.aborted) return;
    const command = plan.withPort(port);
    if (command !== given.command && !given.json) output.err(`Runs         ${command.join(' ')}\n`);
    const started = new ChildCommand({
      command,
      env: commandEnvironment(port, public_url, process.env),
      clock,
      say,
    });
    child = started;
    commandEnded = started.ended.then(async (code) => {
      stop.abort();
      await started.endLeftovers();
      return code;
    });
  };
  const toStderr: Output = { out: (text) => output.err(text), err: (text) => output.err(text) };
  const inner = given.json
    ? new OneLine(output, spec)
    : new TextReporter(toStderr, clock, spec, 'The tunnel closes when the command ends.');
  const queue = new CreateQueue(stop.signal, clock);
  const waiting = (ms: number): void => inner.waiting(ms);
  const code = await serveTunnel({
    access: given,
    spec,
    reporter: startingReporter(inner, start),
    log: new RequestLog(),
    output,
    interrupted: stop.signal,
    inspection: await Inspection.start(process.env, output),
    clock,
    onAddress: (url) => doOnceOnline(given.onceOnline, url, output, process.stderr, process.env, openAddress),
    claim: isTaken ? undefined : claim,
    create: (client, request) =>
      derived === undefined ? queue.create(client, request, waiting) : createNamed(queue, client, request, waiting),
  });
  if (commandEnded !== undefined) return commandEnded;
  return stoppedBy === undefined ? code : exitCodeFor(null, stoppedBy);
}

/** Standard input belongs to the command, so it is not even opened unless it is a terminal. */
function askable(context: CommandContext): Prompt | undefined {
  return isatty(0) ? context.prompt : undefined;
}

function promptOf(context: CommandContext): Prompt {
  const refuse = (): Promise<string> => Promise.reject(new UsageError('There is no terminal to ask on.'));
  return askable(context) ?? { isInteractive: false, ask: refuse, askSecret: refuse };
}

/** A name that nobody asked for must not be in the way: of an account whose plan has none, or of another that has it. */
async function createNamed(
  queue: CreateQueue,
  api: ApiClient,
  request: CreateRequest,
  onWait: (ms: number) => void,
): Promise<Tunnel> {
  try {
    return await queue.create(api, request, onWait);
  } catch (error) {
    const isAboutName = error instanceof RelayRefusal && [400, 403, 409].includes(error.status);
    if (!isAboutName || request.name === undefined) throw error;
    const { name: _name, take_over: _takeOver, ...rest } = request;
    return await queue.create(api, rest, onWait);
  }
}

/** Starts the command when the tunnel is first online, and tells everything to the reporter first. */
function startingReporter(inner: Reporter, start: (tunnel: Tunnel) => void): Reporter {
  return {
    waiting: (ms) => inner.waiting(ms),
    online(tunnel) {
      inner.online(tunnel);
      start(tunnel);
    },
    reconnecting: (attempt, ms, why) => inner.reconnecting(attempt, ms, why),
    problem: (problem) => inner.problem(problem),
    approvalRequest: (knock, tunnel) => inner.approvalRequest(knock, tunnel),
    expiring: (tunnel, ms, why) => inner.expiring(tunnel, ms, why),
    offline: (reason, why) => inner.offline(reason, why),
  };
}

/** `--json`: one line when the tunnel is first online, and errors. */
class OneLine implements Reporter {
  readonly #output: Output;
  readonly #spec: TunnelSpec;
  #hasSaid = false;

  constructor(output: Output, spec: TunnelSpec) {
    this.#output = output;
    this.#spec = spec;
  }

  online(tunnel: Tunnel): void {
    if (this.#hasSaid) return;
    this.#hasSaid = true;
    const { port, madePassword } = this.#spec;
    const password = madePassword === undefined ? {} : { password: madePassword };
    this.#output.err(jsonLine({ event: 'online', url: tunnel.public_url, port, tunnel, ...password }));
  }

  offline(reason: EndReason, why: string): void {
    if (reason !== 'stopped') this.#output.err(`culvert: ${why}\n`);
  }

  waiting(): void {}
  reconnecting(): void {}
  problem(): void {}
  approvalRequest(): void {}
  expiring(): void {}
}

/* The port of the command. */

const LOOPBACK = ['127.0.0.1', '::1'];

/** @throws UsageError if something else listens there: visitors would reach that instead of the command */
async function choosePort(wanted: number | undefined): Promise<number> {
  if (wanted === undefined) return listenBriefly(LOOPBACK[0], 0);
  for (const host of LOOPBACK) {
    try {
      await listenBriefly(host, wanted);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') continue;
      throw new UsageError(
        `Port ${wanted} is in use. Stop the program that listens on it, or choose another port with --port.`,
      );
    }
  }
  return wanted;
}

/** @returns the port that was listened on */
async function listenBriefly(host: string | undefined, port: number): Promise<number> {
  const server = createServer();
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : port;
}
