/** Runs `culvert http`, `share` and `start` in a process: with the view on a terminal, with lines elsewhere. */
import { basename, dirname } from 'node:path';
import { fullJitter } from '../../../shared/timer.ts';
import { pause, systemClock } from '../../client/clock.ts';
import { type Claim, claimNames } from '../../client/config/claims.ts';
import type { Prompt, RelayAccess } from '../../client/config/relay-access.ts';
import type { TunnelSpec } from '../../client/config/tunnel-spec.ts';
import { ExitCode, UsageError } from '../../client/failures.ts';
import { ApiClient } from '../../client/relay/api-client.ts';
import { type AccessOptions, completeAccess, exposureWarning } from '../command-line/access-options.ts';
import type { CommandSurroundings } from '../command-line/command.ts';
import type { AccessOrLogin } from '../commands/login.ts';
import { otherMachineWarning } from '../command-line/parse.ts';
import { openAddress } from '../output/prompt.ts';
import { type EndReason, JsonReporter, type Output, TextReporter } from '../output/reporter.ts';
import { inspectedHost, type ServeOptions, serveTunnel } from './serve-tunnel.ts';
import { HostWindow } from '../view/host-window.ts';
import { doOnceOnline, type OnceOnline } from '../view/once-online.ts';
import { canShowView, TerminalView } from '../view/terminal-view.ts';

/** Longest first wait of a service's tunnel that ended, before it is created again. */
const REOPEN_BASE_MS = 1000;
/** Longest wait of a service's tunnel, so that it is back soon after the network or the relay. */
const REOPEN_CAP_MS = 30_000;

/** A tunnel of the command line. */
export interface HttpTunnel extends AccessOrLogin {
  readonly tunnel: Omit<TunnelSpec, 'access'>;
  readonly wanted: AccessOptions;
  readonly onceOnline: OnceOnline;
  /** whether the window opens in a browser */
  readonly ui: boolean;
}

/** Tunnels of a `culvert.yml`. */
export interface ProjectTunnels extends TunnelsToServe {
  /** path of the file */
  readonly project: string;
  /** whether the user wants to take over live tunnels that have a name of the file */
  readonly takesOver: boolean;
}

/** Tunnels of the command line or of `culvert.yml`, with their access policies. */
interface TunnelsToServe extends RelayAccess {
  readonly project?: string;
  readonly takesOver?: boolean;
  readonly tunnels: readonly TunnelSpec[];
  readonly onceOnline: OnceOnline;
  /** whether tunnels are created again after a failure, because no person does that for a service */
  readonly isService?: boolean;
  /** whether the window opens in a browser */
  readonly ui: boolean;
}

/**
 * Asks for passwords that are missing, and serves the tunnels until they end.
 *
 * @throws UsageError
 */
export async function openTunnels(
  given: HttpTunnel | ProjectTunnels,
  { prompt, output, interruptible }: CommandSurroundings,
): Promise<ExitCode> {
  const wanted = await completeTunnels(given, prompt, output);
  const interrupted = interruptible();
  const { host, stop } = await inspectedHost(wanted, output);
  const window = new HostWindow(wanted, host);
  try {
    return await runTunnels(wanted, prompt, { output, interrupted, host, window });
  } finally {
    stop();
    await window.close();
  }
}

/** @throws UsageError */
async function completeTunnels(
  given: HttpTunnel | ProjectTunnels,
  prompt: Prompt,
  output: Output,
): Promise<TunnelsToServe> {
  if (!('project' in given))
    return { ...given, tunnels: [await located(await completeTunnel(given, prompt, output))] };
  const project = basename(dirname(given.project));
  const tunnels = await Promise.all(given.tunnels.map(located));
  return { ...given, tunnels: tunnels.map((spec) => ({ ...spec, project })) };
}

/**
 * Asks for passwords that are missing. Warns of secrets on the command line, and of a service on another machine.
 *
 * @throws UsageError
 */
export async function completeTunnel(
  { wanted, tunnel }: Pick<HttpTunnel, 'wanted' | 'tunnel'>,
  prompt: Prompt,
  output: Output,
): Promise<TunnelSpec> {
  const warning = exposureWarning(wanted);
  if (warning !== undefined) output.err(warning);
  const otherMachine = 'host' in tunnel.target ? otherMachineWarning(tunnel.target.host) : undefined;
  if (otherMachine !== undefined) output.err(otherMachine);
  return { ...tunnel, access: await completeAccess(wanted, prompt) };
}

/**
 * The same with the real path of its folder, if it has one.
 *
 * @throws UsageError for something that is not a folder, or a folder that cannot be read
 */
async function located(spec: TunnelSpec): Promise<TunnelSpec> {
  const { target } = spec;
  if (!('folder' in target)) return spec;
  const { FolderUnreadable, locateFolder } = await import('../../client/share/shared-folder.ts');
  try {
    return { ...spec, target: { ...target, folder: await locateFolder(target.folder) } };
  } catch (error) {
    throw error instanceof FolderUnreadable ? new UsageError(error.message) : error;
  }
}

/** @param prompt for questions before anything is shown */
async function runTunnels(
  command: TunnelsToServe,
  prompt: Prompt,
  around: Omit<Surroundings, 'clock'>,
): Promise<ExitCode> {
  const api = new ApiClient(command.relay, command.key, command.network);
  const asked = prompt.isInteractive && !command.json ? prompt : undefined;
  const claims = await claimNames(api, command.tunnels, { ...claiming(command), prompt: asked });
  const hasView = !command.json && command.isService !== true && canShowView(process.stdout, process.env);
  const run = hasView ? runInView : runInLines;
  return run(command, claims, { ...around, clock: systemClock });
}

/** A person has typed a name on the command line; anyone may have written one in a file. */
function claiming({ project, takesOver }: Pick<TunnelsToServe, 'project' | 'takesOver'>) {
  return { from: project === undefined ? 'person' : 'file', takesOver } as const;
}

const SERVICE_END = 'The tunnel closes when the service stops.';

type Claims = ReadonlyMap<string, Claim>;

function runInLines(command: TunnelsToServe, claims: Claims, around: Surroundings): Promise<ExitCode> {
  const { output, clock } = around;
  const attach: Attach = (spec) => {
    const claim = claims.get(spec.name ?? '');
    const onAddress = (url: string): void =>
      doOnceOnline(command.onceOnline, url, output, process.stderr, process.env, openAddress);
    if (command.json) return { reporter: new JsonReporter(output, spec), claim, onAddress };
    const end = command.isService === true ? { end: SERVICE_END } : {};
    const reporter = new TextReporter(output, clock, spec, { ...end, showsRequests: true });
    return { reporter, claim, onAddress };
  };
  if (command.ui) void printWindow(around.window, output);
  return serveTunnels(command, attach, around);
}

/** Prints a link to the window of a command, on standard error, because programs read standard output. */
export async function printWindow(window: HostWindow, output: Output): Promise<void> {
  const link = await window.open((text) => output.err(`culvert: ${text}\n`));
  if (link !== undefined) output.err(`Window       ${link}\n`);
}

async function runInView(command: TunnelsToServe, claims: Claims, around: Surroundings): Promise<ExitCode> {
  const view = new TerminalView(process.stdin, process.stdout, process.env, around.clock, around.window);
  const api = new ApiClient(command.relay, command.key, command.network);
  const attach: Attach = (spec) => {
    const reporter = view.add(spec, api);
    return {
      reporter,
      claim: claims.get(spec.name ?? ''),
      onAddress: () => view.doOnceOnline(reporter, command.onceOnline),
    };
  };
  const end = serveTunnels(command, attach, { ...around, output: view.output });
  view.open();
  if (command.ui) void view.openWindow();
  try {
    return await end;
  } finally {
    view.close(around.output);
  }
}

/* Several tunnels in one process. */

/** Creates what follows a tunnel. */
type Attach = (spec: TunnelSpec) => Pick<ServeOptions, 'reporter' | 'claim' | 'onAddress'>;

/** What all tunnels share. */
type Surroundings = Pick<ServeOptions, 'output' | 'interrupted' | 'host' | 'clock'> & {
  readonly window: HostWindow;
};

/** From the best end to the worst. */
const FROM_BEST: readonly ExitCode[] = [
  ExitCode.ok,
  ExitCode.gone,
  ExitCode.replaced,
  ExitCode.failed,
  ExitCode.keyRefused,
];

/** @returns when all tunnels are offline for good: the worst of their exit codes */
export async function serveTunnels(
  command: TunnelsToServe,
  attach: Attach,
  around: Omit<Surroundings, 'window'>,
): Promise<ExitCode> {
  const codes = await Promise.all(
    command.tunnels.map(async (spec) => {
      if (command.isService === true) return serveForGood(command, spec, attach, around);
      const attached = attach(spec);
      const { reason, why, code } = await serveTunnel({ spec, ...attached, ...around });
      attached.reporter.offline(reason, why);
      return code;
    }),
  );
  return codes.reduce(
    (worst, code) => (FROM_BEST.indexOf(code) > FROM_BEST.indexOf(worst) ? code : worst),
    ExitCode.ok,
  );
}

/**
 * Serves a tunnel of a service: creates it again if it could not be created, for example before there is a network, and
 * if it has ended although nobody wanted that.
 *
 * @returns when it is closed, its chosen lifetime is over, the key is refused, or the service stops
 */
async function serveForGood(
  command: TunnelsToServe,
  spec: TunnelSpec,
  attach: Attach,
  around: Omit<Surroundings, 'window'>,
): Promise<ExitCode> {
  const { output, interrupted, clock, host } = around;
  const api = new ApiClient(command.relay, command.key, command.network);
  const label = spec.label === undefined ? '' : `${spec.label}: `;
  let attempt = 0;
  let said: string | undefined;
  for (;;) {
    // Another client may have begun to serve it, or have stopped.
    const claims = await claimNames(api, [spec], { ...claiming(command), made: host.made });
    const attached = { ...attach(spec), claim: claims.get(spec.name ?? '') };
    const { reason, why, code, served, wasOnline } = await serveTunnel({ spec, ...attached, ...around });
    if (interrupted.aborted || code === ExitCode.keyRefused || !isReopened(reason, spec)) {
      attached.reporter.offline(reason, why);
      return code;
    }
    // Another one takes its place.
    if (served !== undefined) host.forget(served);
    if (wasOnline) {
      attempt = 0;
      said = undefined;
    }
    // A relay that is away for an hour deserves one line, not hundreds.
    if (why !== said) output.err(`culvert: ${label}${why} Trying again until it works.\n`);
    said = why;
    const limits = { baseMs: REOPEN_BASE_MS, capMs: REOPEN_CAP_MS };
    await pause(clock, fullJitter({ attempt, ...limits, random: Math.random() }), interrupted);
    if (interrupted.aborted) return ExitCode.ok;
    attempt += 1;
  }
}

function isReopened(reason: EndReason, { name, ttl }: TunnelSpec): boolean {
  switch (reason) {
    case 'failed':
    case 'gone':
    case 'refused':
      return true;
    case 'expired':
      // It expired while this machine was asleep or away.
      return ttl === undefined;
    case 'replaced':
      // It comes back when the other client has stopped.
      return name !== undefined;
    case 'stopped':
    case 'closed':
    case 'key-refused':
      return false;
  }
}
