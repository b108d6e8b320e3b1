/** Runs `culvert http`, `share` and `start` in a process: with the view on a terminal, with lines elsewhere. */
import { systemClock } from '../client/clock.ts';
import { type Claim, claimNames, type Prompt } from '../client/config/relay-access.ts';
import type { ExitCode } from '../client/failures.ts';
import { RequestLog } from '../client/inspector/request-log.ts';
import { ApiClient } from '../client/relay/api-client.ts';
import { completeAccess, exposureWarning } from './access-options.ts';
import type { HttpCommand, StartCommand } from './commands.ts';
import { otherMachineWarning } from './parse.ts';
import { openAddress } from './prompt.ts';
import { JsonReporter, type Output, TextReporter } from './reporter.ts';
import { type Attach, serveTunnels, type Surroundings, type TunnelsToServe } from './serve-tunnels.ts';
import { doOnceOnline } from './view/once-online.ts';
import { canShowView, TerminalView } from './view/terminal-view.ts';

/**
 * Asks for the passwords that the options leave out, and warns of those that they hold, and of another machine.
 *
 * @throws UsageError
 */
export async function completeTunnels(
  command: HttpCommand | StartCommand,
  prompt: Prompt,
  output: Output,
): Promise<TunnelsToServe> {
  if (command.command === 'start') return { ...command, isPatient: true };
  const { wanted, tunnel, ...rest } = command;
  const warning = exposureWarning(wanted);
  if (warning !== undefined) output.err(warning);
  const otherMachine = otherMachineWarning(tunnel.localHost);
  if (otherMachine !== undefined) output.err(otherMachine);
  const access = await completeAccess(wanted, prompt);
  return { ...rest, tunnels: [{ ...tunnel, access }], isPatient: false };
}

/** @param prompt for questions before anything is shown */
export async function runTunnels(
  command: TunnelsToServe,
  prompt: Prompt,
  around: Omit<Surroundings, 'clock'>,
): Promise<ExitCode> {
  const names = command.tunnels.flatMap(({ name }) => name ?? []);
  const api = new ApiClient(command.relay, command.key, command.network);
  const asked = prompt.isInteractive && !command.json ? prompt : undefined;
  const claims = await claimNames(api, names, asked);
  const hasView = !command.json && canShowView(process.stdout, process.env);
  const run = hasView ? runInView : runInLines;
  return run(command, claims, { ...around, clock: systemClock });
}

type Claims = ReadonlyMap<string, Claim>;

function runInLines(command: TunnelsToServe, claims: Claims, around: Surroundings): Promise<ExitCode> {
  const { output, clock } = around;
  const attach: Attach = (spec) => {
    const log = new RequestLog();
    const claim = claims.get(spec.name ?? '');
    const onAddress = (url: string): void =>
      doOnceOnline(command.onceOnline, url, output, process.stderr, process.env, openAddress);
    if (command.json) return { reporter: new JsonReporter(output, spec), log, claim, onAddress };
    const reporter = new TextReporter(output, clock, spec);
    log.subscribe((summary) => reporter.request(summary));
    return { reporter, log, claim, onAddress };
  };
  return serveTunnels(command, attach, around);
}

async function runInView(command: TunnelsToServe, claims: Claims, around: Surroundings): Promise<ExitCode> {
  const view = new TerminalView(process.stdin, process.stdout, process.env, around.clock);
  const api = new ApiClient(command.relay, command.key, command.network);
  const attach: Attach = (spec) => {
    const log = new RequestLog();
    const reporter = view.add(spec, {
      requests: (count) => log.list(undefined, count),
      fetchTunnel: (id) => api.getTunnel(id),
      detail: (id) => log.detail(id),
      extendTunnel: (id) => api.extendTunnel(id),
      answerKnock: (id, knock, admit) => api.answerKnock(id, knock, admit),
    });
    return {
      reporter,
      log,
      claim: claims.get(spec.name ?? ''),
      onReplay: reporter.useReplay.bind(reporter),
      onAddress: () => view.doOnceOnline(reporter, command.onceOnline),
    };
  };
  const end = serveTunnels(command, attach, { ...around, output: view.output });
  view.open();
  try {
    return await end;
  } finally {
    view.close(around.output);
  }
}
