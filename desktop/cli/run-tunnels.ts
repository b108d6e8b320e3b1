/** Runs `culvert http`, `share` and `start` in a process: with the view on a terminal, with lines elsewhere. */
import { systemClock } from '../client/clock.ts';
import { type Claim, claimNames, type Prompt, type RelayAccess } from '../client/config/relay-access.ts';
import type { TunnelSpec } from '../client/config/tunnel-spec.ts';
import type { ExitCode } from '../client/failures.ts';
import { RequestLog } from '../client/inspector/request-log.ts';
import { ApiClient } from '../client/relay/api-client.ts';
import { type AccessOptions, completeAccess, exposureWarning } from './access-options.ts';
import type { CommandContext } from './command.ts';
import { otherMachineWarning } from './parse.ts';
import { openAddress } from './prompt.ts';
import { JsonReporter, type Output, TextReporter } from './reporter.ts';
import type { ServedFolders } from './serve-folders.ts';
import { Inspection } from './serve-tunnel.ts';
import { type Attach, serveTunnels, type Surroundings, type TunnelsToServe } from './serve-tunnels.ts';
import { doOnceOnline, type OnceOnline } from './view/once-online.ts';
import { canShowView, TerminalView } from './view/terminal-view.ts';

/** A tunnel of the command line. */
export interface HttpTunnel extends RelayAccess {
  readonly tunnel: Omit<TunnelSpec, 'access'>;
  readonly wanted: AccessOptions;
  readonly onceOnline: OnceOnline;
}

/** Tunnels of a `culvert.yml`. */
export interface ProjectTunnels extends RelayAccess {
  /** path of the file */
  readonly project: string;
  readonly tunnels: readonly TunnelSpec[];
  readonly onceOnline: OnceOnline;
}

/**
 * Asks for passwords that are missing, serves the folders that are shared, and then the tunnels until they end.
 *
 * @throws UsageError
 */
export async function openTunnels(
  given: HttpTunnel | ProjectTunnels,
  { prompt, output, interruptible }: CommandContext,
): Promise<ExitCode> {
  const wanted = await completeTunnels(given, prompt, output);
  const served = await servedFolders(wanted.tunnels, 'project' in given ? given.project : undefined);
  try {
    const interrupted = interruptible();
    const inspection = await Inspection.start(process.env, output);
    return await runTunnels({ ...wanted, tunnels: served.tunnels }, prompt, {
      output,
      interrupted,
      inspection,
    });
  } finally {
    await served.close();
  }
}

/** Warns of secrets on the command line, and of a service on another machine. */
async function completeTunnels(
  given: HttpTunnel | ProjectTunnels,
  prompt: Prompt,
  output: Output,
): Promise<TunnelsToServe> {
  if ('project' in given) return { ...given, isPatient: true };
  const { wanted, tunnel, ...rest } = given;
  const warning = exposureWarning(wanted);
  if (warning !== undefined) output.err(warning);
  const otherMachine = otherMachineWarning(tunnel.localHost);
  if (otherMachine !== undefined) output.err(otherMachine);
  const access = await completeAccess(wanted, prompt);
  return { ...rest, tunnels: [{ ...tunnel, access }], isPatient: false };
}

/** The server of files needs a list of all media types, so it is loaded only if a folder is shared. */
async function servedFolders(
  tunnels: readonly TunnelSpec[],
  project: string | undefined,
): Promise<ServedFolders> {
  if (tunnels.every(({ folder }) => folder === undefined)) return { tunnels, close: () => Promise.resolve() };
  const { serveFolders } = await import('./serve-folders.ts');
  return serveFolders(tunnels, project);
}

/** @param prompt for questions before anything is shown */
async function runTunnels(
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
