/** Runs `culvert http` and `culvert start` in a process: with the view on a terminal, with lines elsewhere. */
import type { TunnelSpec } from '../config/tunnel-spec.ts';
import { systemClock } from '../engine/clock.ts';
import { RequestLog } from '../engine/inspector/request-log.ts';
import { ApiClient } from '../engine/relay/api-client.ts';
import { completeAccess, exposureWarning } from './access-options.ts';
import type { HttpCommand, StartCommand } from './arguments.ts';
import type { ExitCode } from './exit-code.ts';
import type { Inspection } from './inspection.ts';
import type { Prompt } from './prompt.ts';
import type { RelayAccess } from './relay-access.ts';
import { JsonReporter, type Output, TextReporter } from './reporter.ts';
import { type ServeOptions, serveTunnel } from './serve-tunnel.ts';
import { runStart } from './start-command.ts';
import { canShowView, TerminalView } from './view/terminal-view.ts';

/** A tunnel of `culvert http`, once it is known who may come in. */
interface CompleteHttp extends RelayAccess {
  readonly command: 'http';
  readonly tunnel: TunnelSpec;
}

type TunnelsCommand = CompleteHttp | StartCommand;

/**
 * Asks for the passwords that the options leave out, and warns of those that they hold.
 *
 * @throws UsageError
 */
export async function completeHttp(
  { wanted, tunnel, ...rest }: HttpCommand,
  prompt: Prompt,
  output: Output,
): Promise<CompleteHttp> {
  const warning = exposureWarning(wanted);
  if (warning !== undefined) output.err(warning);
  return { ...rest, tunnel: { ...tunnel, access: await completeAccess(wanted, prompt) } };
}

/** Creates what follows a tunnel. */
type Attach = (spec: TunnelSpec) => Pick<ServeOptions, 'reporter' | 'log'>;

/**
 * @param interrupted aborted by Ctrl-C
 * @param inspection where others can look at the recorded requests
 */
export function runTunnels(
  command: TunnelsCommand,
  output: Output,
  interrupted: AbortSignal,
  inspection: Inspection | undefined,
): Promise<ExitCode> {
  const hasView = !command.json && canShowView(process.stdout, process.env);
  return hasView
    ? runInView(command, output, interrupted, inspection)
    : runInLines(command, output, interrupted, inspection);
}

function runInLines(
  command: TunnelsCommand,
  output: Output,
  interrupted: AbortSignal,
  inspection: Inspection | undefined,
): Promise<ExitCode> {
  const attach: Attach = (spec) => ({
    reporter: command.json ? new JsonReporter(output, spec) : new TextReporter(output, systemClock, spec),
    log: new RequestLog(),
  });
  return serveAll(command, attach, output, interrupted, inspection);
}

async function runInView(
  command: TunnelsCommand,
  output: Output,
  interrupted: AbortSignal,
  inspection: Inspection | undefined,
): Promise<ExitCode> {
  const view = new TerminalView(process.stdin, process.stdout, process.env, systemClock);
  const api = new ApiClient(command.relay, command.key, command.network);
  const attach: Attach = (spec) => {
    const log = new RequestLog();
    const reporter = view.add(spec, {
      requests: (count) => log.list(undefined, count),
      fetchTunnel: (id) => api.getTunnel(id),
      answerKnock: (id, knock, admit) => api.answerKnock(id, knock, admit),
    });
    return { reporter, log };
  };
  const end = serveAll(command, attach, view.output, interrupted, inspection);
  view.open();
  try {
    return await end;
  } finally {
    view.close(output);
  }
}

function serveAll(
  command: TunnelsCommand,
  attach: Attach,
  output: Output,
  interrupted: AbortSignal,
  inspection: Inspection | undefined,
): Promise<ExitCode> {
  if (command.command === 'start')
    return runStart(command, attach, output, interrupted, systemClock, inspection);
  const { tunnel: spec } = command;
  return serveTunnel({ access: command, spec, ...attach(spec), output, interrupted, inspection });
}
