/** Runs `culvert http`, `share` and `start` in a process: with the view on a terminal, with lines elsewhere. */
import { basename, dirname } from 'node:path';
import { fullJitter } from '../../shared/timer.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { type Clock, pause, systemClock } from '../client/clock.ts';
import { type Claim, claimNames } from '../client/config/claims.ts';
import type { Prompt, RelayAccess } from '../client/config/relay-access.ts';
import type { TunnelSpec } from '../client/config/tunnel-spec.ts';
import { ExitCode, UsageError } from '../client/failures.ts';
import { RequestLog } from '../client/inspector/request-log.ts';
import { RECORDED_REQUESTS_MAX } from '../client/limits.ts';
import { ApiClient, createPatiently, type CreateRequest } from '../client/relay/api-client.ts';
import type { SharedFolder } from '../client/share/shared-folder.ts';
import { type AccessOptions, completeAccess, exposureWarning } from './command-line/access-options.ts';
import type { CommandSurroundings } from './command-line/command.ts';
import { CommandWindow } from './command-window.ts';
import type { AccessOrLogin } from './commands/login.ts';
import { REOPEN_BASE_MS, REOPEN_CAP_MS } from './limits.ts';
import { otherMachineWarning } from './command-line/parse.ts';
import { openAddress } from './output/prompt.ts';
import {
  type EndReason,
  followReporter,
  JsonReporter,
  type Output,
  TextReporter,
} from './output/reporter.ts';
import { Inspection, type ServeOptions, serveTunnel } from './serve-tunnel.ts';
import { doOnceOnline, type OnceOnline } from './view/once-online.ts';
import { canShowView, TerminalView } from './view/terminal-view.ts';

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
 * Asks for passwords that are missing, serves the folders that are shared, and then the tunnels until they end.
 *
 * @throws UsageError
 */
export async function openTunnels(
  given: HttpTunnel | ProjectTunnels,
  { prompt, output, interruptible }: CommandSurroundings,
): Promise<ExitCode> {
  const wanted = await completeTunnels(given, prompt, output);
  const project = 'project' in given ? given.project : undefined;
  const served = await serveFolders(wanted.tunnels, project);
  const window = new CommandWindow(wanted, project && basename(dirname(project)));
  let inspection: Inspection | undefined;
  try {
    const interrupted = interruptible();
    inspection = await Inspection.start(process.env, output);
    return await runTunnels({ ...wanted, tunnels: served.tunnels }, prompt, {
      output,
      interrupted,
      inspection,
      window,
    });
  } finally {
    inspection?.stop();
    await window.close();
    await served.close();
  }
}

async function completeTunnels(
  given: HttpTunnel | ProjectTunnels,
  prompt: Prompt,
  output: Output,
): Promise<TunnelsToServe> {
  if ('project' in given) return given;
  return { ...given, tunnels: [await completeTunnel(given, prompt, output)] };
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
  const otherMachine = otherMachineWarning(tunnel.localHost);
  if (otherMachine !== undefined) output.err(otherMachine);
  return { ...tunnel, access: await completeAccess(wanted, prompt) };
}

/**
 * Starts file servers for tunnels to folders; tunnels to ports stay as they are. The server of files needs a list of all
 * media types, so it is loaded only if a folder is shared.
 *
 * @param project path of the project's file, which is hidden from visitors
 * @throws UsageError for something that is not a folder, or a folder that cannot be read
 */
async function serveFolders(specs: readonly TunnelSpec[], project: string | undefined) {
  if (specs.every(({ folder }) => folder === undefined))
    return { tunnels: specs, close: () => Promise.resolve() };
  const { FolderUnreadable, shareFolder } = await import('../client/share/shared-folder.ts');
  const servers: SharedFolder[] = [];
  /** Ends the servers of the folders. */
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.close()));
  };
  const tunnels: TunnelSpec[] = [];
  try {
    for (const spec of specs) {
      if (spec.folder === undefined) {
        tunnels.push(spec);
        continue;
      }
      const server = await shareFolder(spec.folder, { own: project === undefined ? [] : [project] });
      servers.push(server);
      const { path: folder, port, host: hostHeader } = server;
      tunnels.push({ ...spec, folder, port, hostHeader, localHost: '127.0.0.1' });
    }
  } catch (error) {
    await close();
    throw error instanceof FolderUnreadable ? new UsageError(error.message) : error;
  }
  return { tunnels, close };
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
    const log = logOf(spec);
    const claim = claims.get(spec.name ?? '');
    const onAddress = (url: string): void =>
      doOnceOnline(command.onceOnline, url, output, process.stderr, process.env, openAddress);
    if (command.json) return { reporter: new JsonReporter(output, spec), log, claim, onAddress };
    const reporter = new TextReporter(
      output,
      clock,
      spec,
      command.isService === true ? SERVICE_END : undefined,
    );
    log.subscribe((summary) => reporter.request(summary));
    return { reporter, log, claim, onAddress };
  };
  if (command.ui) void printWindow(around.window, output);
  return serveTunnels(command, attach, around);
}

/** Prints a link to the window of a command, on standard error, because programs read standard output. */
export async function printWindow(window: CommandWindow, output: Output): Promise<void> {
  const link = await window.open((text) => output.err(`culvert: ${text}\n`));
  if (link !== undefined) output.err(`Window       ${link}\n`);
}

async function runInView(command: TunnelsToServe, claims: Claims, around: Surroundings): Promise<ExitCode> {
  const view = new TerminalView(process.stdin, process.stdout, process.env, around.clock, around.window);
  const api = new ApiClient(command.relay, command.key, command.network);
  const attach: Attach = (spec) => {
    const log = logOf(spec);
    const reporter = view.add(spec, {
      requests: (count) => log.list(undefined, count),
      fetchTunnel: (id) => api.getTunnel(id),
      relayNow: () => api.now(),
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
  if (command.ui) view.openWindow();
  try {
    return await end;
  } finally {
    view.close(around.output);
  }
}

/** The request log of a tunnel. */
export function logOf({ keepBodies }: Pick<TunnelSpec, 'keepBodies'>): RequestLog {
  return new RequestLog(systemClock, RECORDED_REQUESTS_MAX, () => keepBodies);
}

/* Several tunnels in one process. */

/** Creates what follows a tunnel. */
type Attach = (
  spec: TunnelSpec,
) => Pick<ServeOptions, 'reporter' | 'log' | 'claim' | 'onReplay' | 'onAddress'>;

/** What all tunnels share. */
type Surroundings = Pick<ServeOptions, 'output' | 'interrupted' | 'inspection' | 'clock'> & {
  readonly window: CommandWindow;
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
  around: Surroundings,
): Promise<ExitCode> {
  const queue = new CreateQueue(around.interrupted, around.clock);
  const serveOnce: ServeOnce = (spec, attached) =>
    serveTunnel({
      access: command,
      spec,
      ...attached,
      ...around,
      create: (api, request) => queue.create(api, request, (ms) => attached.reporter.waiting(ms)),
    });
  const codes = await Promise.all(
    command.tunnels.map((spec) =>
      command.isService === true
        ? serveForGood(command, spec, attach, serveOnce, around)
        : serveOnce(spec, attach(spec)),
    ),
  );
  return codes.reduce(
    (worst, code) => (FROM_BEST.indexOf(code) > FROM_BEST.indexOf(worst) ? code : worst),
    ExitCode.ok,
  );
}

type ServeOnce = (spec: TunnelSpec, attached: ReturnType<Attach>) => Promise<ExitCode>;

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
  serveOnce: ServeOnce,
  { output, interrupted, clock }: Surroundings,
): Promise<ExitCode> {
  const api = new ApiClient(command.relay, command.key, command.network);
  const made = new Set<string>();
  const label = spec.label === undefined ? '' : `${spec.label}: `;
  let attempt = 0;
  let said: string | undefined;
  for (;;) {
    // Another client may have begun to serve it, or have stopped.
    const claims = await claimNames(api, [spec], { ...claiming(command), made });
    const { reporter, ...attached } = attach(spec);
    let end: { readonly reason: EndReason; readonly why: string } | undefined;
    const code = await serveOnce(spec, {
      ...attached,
      claim: claims.get(spec.name ?? ''),
      reporter: followReporter(reporter, {
        online(tunnel) {
          attempt = 0;
          said = undefined;
          made.add(tunnel.id);
          reporter.online(tunnel);
        },
        offline: (reason, why) => void (end = { reason, why }),
      }),
    });
    if (end === undefined) return code;
    const { reason, why } = end;
    if (interrupted.aborted || code === ExitCode.keyRefused || !isReopened(reason, spec)) {
      reporter.offline(reason, why);
      return code;
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

/** Creates one tunnel after the other, so that those that wait for the relay's limit do not compete with each other. */
export class CreateQueue {
  readonly #interrupted: AbortSignal;
  readonly #clock: Clock;
  #last: Promise<unknown> = Promise.resolve();

  constructor(interrupted: AbortSignal, clock: Clock) {
    this.#interrupted = interrupted;
    this.#clock = clock;
  }

  /**
   * @param onWait called with the ms until the next try
   * @throws what {@link createPatiently} throws
   */
  create(api: ApiClient, request: CreateRequest, onWait?: (ms: number) => void): Promise<Tunnel> {
    const timing = { clock: this.#clock, interrupted: this.#interrupted, onWait };
    const turn = this.#last.then(() => createPatiently(api, request, timing));
    this.#last = turn.catch(() => {});
    return turn;
  }
}
