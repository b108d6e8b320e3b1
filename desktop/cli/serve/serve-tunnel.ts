/** One tunnel of `culvert http` or `culvert start`, from its creation to its end. */
import { firstLine } from '../../../shared/names.ts';
import { type Clock, systemClock } from '../../client/clock.ts';
import type { Claim } from '../../client/config/claims.ts';
import type { RelayAccess } from '../../client/config/relay-access.ts';
import type { TunnelSpec } from '../../client/config/tunnel-spec.ts';
import { describeFailure, ExitCode, exitCodeOf, exitCodeOfFailure } from '../../client/failures.ts';
import { Host, type HostOptions } from '../../client/host/host.ts';
import type { ServedTunnel } from '../../client/host/served-tunnel.ts';
import { startInspector } from '../../client/inspector/inspector-server.ts';
import { textOf } from '../../client/messages.ts';
import { ApiClient } from '../../client/relay/api-client.ts';
import { createTunnelClient } from '../../client/tunnel-client.ts';
import { dayTime, lifetimeText, localTime } from '../output/format.ts';
import type { EndReason, Output, Reporter } from '../output/reporter.ts';

/** The tunnels of a command. @param inspector shows them to `culvert inspect` */
export function hostOf(
  { relay, key, network }: Pick<RelayAccess, 'relay' | 'key' | 'network'>,
  inspector: HostOptions['inspector'],
  clock: Clock = systemClock,
): Host {
  const connection = { relay, key, api: new ApiClient(relay, key, network) };
  return new Host({
    clock,
    connect: (options) => createTunnelClient({ ...options, network }),
    connection: () => connection,
    warns: true,
    inspector,
  });
}

/** The same, which `culvert inspect` sees; if it cannot, tunnels are served all the same. @returns also what ends that */
export async function inspectedHost(
  access: Parameters<typeof hostOf>[0],
  output: Output,
  clock?: Clock,
): Promise<{ readonly host: Host; readonly stop: () => void }> {
  const inspector = await startInspector(process.env, (error) =>
    output.err(`culvert: "culvert inspect" cannot find this process: ${describeFailure(error)}\n`),
  );
  return { host: hostOf(access, inspector, clock), stop: () => inspector?.stop() };
}

export interface ServeOptions {
  readonly host: Host;
  readonly spec: TunnelSpec;
  readonly reporter: Reporter;
  readonly output: Output;
  /** aborted by Ctrl-C */
  readonly interrupted: AbortSignal;
  readonly clock: Clock;
  /** told the address when visitors first reach the tunnel */
  readonly onAddress?: ((url: string) => void) | undefined;
  /** what happens to the live tunnel that has the wanted name; `undefined` for a new one */
  readonly claim?: Claim | undefined;
  /** whether a random name will do */
  readonly isNameOptional?: boolean;
}

/** How a tunnel has ended. */
export interface TunnelEnd {
  readonly reason: EndReason;
  readonly why: string;
  readonly code: ExitCode;
  /** `undefined` if it could not be created */
  readonly served?: ServedTunnel;
  /** whether visitors have ever reached it */
  readonly wasOnline: boolean;
}

/** @returns when the tunnel is offline for good; one that was interrupted has been closed at the relay */
export async function serveTunnel(options: ServeOptions): Promise<TunnelEnd> {
  const { host, spec, reporter, output, interrupted, clock, claim, isNameOptional = false } = options;
  const patience = { clock, interrupted, onWait: (ms: number) => reporter.waiting?.(ms) };
  const { access } = spec;
  let served: ServedTunnel;
  try {
    served = await host.create({ settings: spec, access, claim, isNameOptional, patience });
  } catch (error) {
    if (!interrupted.aborted || error !== interrupted.reason)
      return {
        reason: 'failed',
        why: describeFailure(error),
        code: exitCodeOfFailure(error),
        wasOnline: false,
      };
    const why = 'Stopped before the tunnel was created.';
    return { reason: 'stopped', why, code: ExitCode.ok, wasOnline: false };
  }
  reporter.opened?.(served);
  const end = await ended(served, options);
  const { reason, wasOnline } = end;
  if (reason !== 'stopped')
    return { reason, why: lastWords(end), code: exitCodeOf(reason), served, wasOnline };
  const isTold = reporter.kept !== undefined && wasOnline;
  const absence = isTold ? absenceText(host, served, clock) : '';
  const closed = await closeTunnel(host, served, output);
  const why = closed === CLOSED ? `${closed}${await absence}` : closed;
  return { reason, why, code: exitCodeOf(reason), served, wasOnline };
}

/** What visitors see from now on. Never rejects. */
async function absenceText(host: Host, served: ServedTunnel, clock: Clock): Promise<string> {
  const { name, protocol } = served.tunnel;
  const kept = await host.keptNameOf(served);
  const hold = kept === null ? await host.nameHold() : undefined;
  if (hold === 0) return ` Other accounts can use ${name} now.`;
  // Nothing can be told to a connection that carries bytes.
  const isTold = protocol === 'http';
  const told = isTold ? ', and its visitors are told that it is offline' : '';
  if (hold !== undefined)
    return ` ${name} stays reserved for your account until ${dayTime(clock.now() + hold, clock.now())}${told}.`;
  if (!kept) return '';
  if (!isTold) return ` Your account keeps the name ${name}.`;
  if (kept.away === null)
    return ` Visitors of ${name} are told that it is offline. To leave them a message, run "culvert away ${name}".`;
  return ` Visitors of ${name} now read: ${firstLine(kept.away)}`;
}

interface End extends Pick<TunnelEnd, 'why' | 'wasOnline'> {
  readonly reason: Exclude<EndReason, 'failed'>;
  /** why the tunnel could not be extended */
  readonly notExtended: string | undefined;
}

/** Nobody has to lose a tunnel to the clock a second time. */
function lastWords({ reason, why, notExtended }: End): string {
  if (reason !== 'expired') return why;
  if (notExtended !== undefined) return `${why} It could not be extended. ${notExtended}`;
  return `${why} For a longer lifetime, use --ttl, or use --idle to keep the tunnel open while it has traffic. To extend a live tunnel, run "culvert extend".`;
}

/** Reports what happens to the tunnel. @returns when it is permanently offline, or interrupted */
function ended(served: ServedTunnel, { host, reporter, interrupted, onAddress }: ServeOptions): Promise<End> {
  return new Promise((resolve) => {
    let isFirst = true;
    let isOver = false;
    let notExtended: string | undefined;
    const stop = (): void => end('stopped', '');
    const end = (reason: End['reason'], why: string): void => {
      isOver = true;
      interrupted.removeEventListener('abort', stop);
      unsubscribe();
      resolve({ reason, why, notExtended, wasOnline: !isFirst });
    };
    const tellKept = async (): Promise<void> => {
      if (reporter.kept === undefined) return;
      const kept = await host.keptNameOf(served);
      if (kept && !isOver) reporter.kept(kept);
    };
    const begin = (): void => {
      onAddress?.(served.tunnel.public_url);
      void tellKept();
    };
    const unsubscribe = served.listen({
      onState(state) {
        switch (state.name) {
          case 'connecting':
            break;
          case 'online':
            // Tokens are shown once.
            reporter.online?.({ ...(isFirst ? served.tunnelWithTokens : served.tunnel), online: true });
            if (isFirst) begin();
            isFirst = false;
            break;
          case 'reconnecting':
            reporter.reconnecting?.(state.attempt, state.retryInMs, textOf(state.why));
            break;
          case 'ended':
            // A command does not sign out.
            end(state.reason, textOf(state.why));
            break;
        }
      },
      onProblem: (problem) => reporter.problem?.(problem),
      onApprovalRequest: (request) => reporter.approvalRequest?.(request, served.tunnel),
      onExpiring(leftMs, why) {
        notExtended = why === undefined ? undefined : describeFailure(why);
        reporter.expiring?.(served.tunnel, leftMs, notExtended);
      },
    });
    interrupted.addEventListener('abort', stop, { once: true });
    // Ctrl-C may have come while the tunnel was being created.
    if (interrupted.aborted) stop();
  });
}

const CLOSED = 'Tunnel closed.';

/** Ends a tunnel, and says on the error output for how long it lives if the relay cannot be told. @returns what happened */
export async function closeTunnel(host: Host, served: ServedTunnel, output: Output): Promise<string> {
  const failure = await host.close(served);
  if (failure === undefined) return CLOSED;
  const { idle_ttl, ttl, expires_at } = served.tunnel;
  const until = idle_ttl ? `${lifetimeText(ttl)} after its last traffic` : localTime(expires_at);
  output.err(`culvert: The tunnel could not be closed and expires ${until}. ${describeFailure(failure)}\n`);
  return 'The command stopped, but the tunnel was not closed.';
}
