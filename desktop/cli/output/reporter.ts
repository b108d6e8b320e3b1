/** How `culvert http` and `start` report what happens: as text for people, or as one JSON event per line. */
import type { KnockMessage } from '../../../shared/control.ts';
import type { KeptName } from '../../../shared/names.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import type { Clock } from '../../client/clock.ts';
import { hostsOf, localUrl, type TunnelSpec } from '../../client/config/tunnel-spec.ts';
import type { OfflineReason } from '../../client/control/verdict.ts';
import { isKeptOpen } from '../../client/expiry-watch.ts';
import { describeWait } from '../../client/failures.ts';
import type { ServedTunnel } from '../../client/host/served-tunnel.ts';
import { newLines } from '../../client/inspector/records.ts';
import { textOf } from '../../client/messages.ts';
import { madeTokens } from '../../client/relay/api-responses.ts';
import type { ConnectionProblem } from '../../client/visitors/connections.ts';
import { describeAccess } from '../command-line/access-options.ts';
import { agentText, escapeVisitorText, jsonLine, lifetimeText, localTime, timeLeft } from './format.ts';
import { summaryLine } from '../inspect/inspect-format.ts';

/** Why the command ended: `failed` if there never was a tunnel. */
export type EndReason = OfflineReason | 'failed';

/** What is told while a tunnel is served; each reporter tells what its readers need. */
export interface Reporter {
  /** The relay limits how many tunnels can be created. @param retryInMs ms until the next attempt */
  waiting?(retryInMs: number): void;
  /** The relay has created it, and it connects. */
  opened?(tunnel: ServedTunnel): void;
  online?(tunnel: Tunnel): void;
  /** The account keeps the name of the tunnel. Those who do not ask are not told, at the end either. */
  kept?(name: KeptName): void;
  /** @param retryInMs ms until the next attempt */
  reconnecting?(attempt: number, retryInMs: number, why: string): void;
  problem?(problem: ConnectionProblem): void;
  /** A visitor waits for approval. The relay may repeat this on another control connection. */
  approvalRequest?(knock: KnockMessage, tunnel: Tunnel): void;
  /**
   * The tunnel expires soon unless it is extended.
   *
   * @param leftMs ms until then
   * @param why what prevents the command from extending it; `undefined` if it does not try
   */
  expiring?(tunnel: Tunnel, leftMs: number, why?: string): void;
  offline(reason: EndReason, why: string): void;
}

/**
 * Where text is written; everything that could control a terminal is removed on the way, except line feeds and tabs.
 */
export interface Output {
  /** what was asked for */
  out(text: string): void;
  /** what went wrong, for people */
  err(text: string): void;
  /** of the terminal that shows what was asked for; `undefined` for a file or another program */
  readonly columns?: number | undefined;
}

/** The output of a program. */
export interface PrintedOutput extends Output {
  /** @returns why the last text of {@link Output.out} could not be written, once that is known */
  flush(): Promise<Error | undefined>;
}

/** What `--json` prints; `--help` documents it. */
type JsonEvent = { readonly name?: string } & (
  | { readonly event: 'online'; readonly tunnel: Tunnel; readonly password?: string }
  | {
      readonly event: 'reconnecting';
      readonly attempt: number;
      readonly retry_in_ms: number;
      readonly message: string;
    }
  | {
      readonly event: 'problem';
      readonly code: ConnectionProblem['code'];
      readonly message: string;
      readonly left_out?: number;
    }
  | ({ readonly event: 'knock'; readonly tunnel: string } & Omit<KnockMessage, 'type'>)
  | {
      readonly event: 'expiring';
      readonly in_seconds: number;
      readonly expires_at: string;
      readonly message?: string;
    }
  | { readonly event: 'offline'; readonly reason: EndReason; readonly message: string }
);

export class JsonReporter implements Reporter {
  readonly #output: Output;
  readonly #name: { readonly name?: string };
  /** the generated password */
  readonly #password: { readonly password?: string };

  constructor(output: Output, { label, madePassword }: Pick<TunnelSpec, 'label' | 'madePassword'>) {
    this.#output = output;
    this.#name = label === undefined ? {} : { name: label };
    this.#password = madePassword === undefined ? {} : { password: madePassword };
  }

  waiting(retryInMs: number): void {
    this.#output.err(`culvert: ${describeWait(retryInMs)}\n`);
  }

  online(tunnel: Tunnel): void {
    this.#print({ event: 'online', ...this.#name, tunnel, ...this.#password });
  }

  reconnecting(attempt: number, retryInMs: number, why: string): void {
    this.#print({ event: 'reconnecting', ...this.#name, attempt, retry_in_ms: retryInMs, message: why });
  }

  problem({ code, text, leftOut }: ConnectionProblem): void {
    const more = leftOut === undefined ? {} : { left_out: leftOut };
    this.#print({ event: 'problem', ...this.#name, code, message: textOf(text), ...more });
  }

  approvalRequest({ id, address, agent, at, client }: KnockMessage, tunnel: Tunnel): void {
    this.#print({ event: 'knock', ...this.#name, tunnel: tunnel.id, id, address, agent, at, client });
  }

  expiring({ expires_at }: Tunnel, leftMs: number, why?: string): void {
    const message = why === undefined ? {} : { message: why };
    const in_seconds = Math.round(leftMs / 1000);
    this.#print({ event: 'expiring', ...this.#name, in_seconds, expires_at, ...message });
  }

  offline(reason: EndReason, why: string): void {
    this.#print({ event: 'offline', ...this.#name, reason, message: why });
    if (reason !== 'stopped') this.#output.err(`culvert: ${why}\n`);
  }

  #print(event: JsonEvent): void {
    this.#output.out(jsonLine(event));
  }
}

/** ms after which the same problem is repeated, instead of for every visitor. */
const REPEAT_AFTER_MS = 30_000;

export class TextReporter implements Reporter {
  readonly #output: Output;
  readonly #spec: TunnelSpec;
  readonly #clock: Clock;
  readonly #saidAt = new Map<string, number>();
  readonly #end: string;
  readonly #showsRequests: boolean;
  #greeted = false;
  #waiting = false;

  /**
   * @param spec its label, what `culvert.yml` calls the tunnel, is put before every line
   * @param end how the tunnel is closed
   */
  constructor(
    output: Output,
    clock: Clock,
    spec: TunnelSpec,
    { end = 'Ctrl-C closes the tunnel.', showsRequests = false } = {},
  ) {
    this.#spec = spec;
    this.#end = end;
    this.#showsRequests = showsRequests;
    this.#output = labelled(output, spec.label);
    this.#clock = clock;
  }

  waiting(retryInMs: number): void {
    this.#output.out(`${describeWait(retryInMs)}\n`);
  }

  opened({ log }: Pick<ServedTunnel, 'log'>): void {
    if (!this.#showsRequests) return;
    const isLine = newLines();
    log.subscribe((summary) => {
      if (isLine(summary)) this.#output.out(summaryLine(summary));
    });
  }

  online(tunnel: Tunnel): void {
    this.#waiting = false;
    if (this.#greeted) this.#output.out('Online again.\n');
    else this.#output.out(`${greeting(tunnel, this.#spec)}${this.#end}\n`);
    this.#greeted = true;
  }

  kept({ name }: KeptName): void {
    this.#output.out(`Your account keeps the name ${name}.\n`);
  }

  reconnecting(_attempt: number, _retryInMs: number, why: string): void {
    // A relay that is away for an hour deserves one line, not hundreds.
    if (this.#waiting) return;
    this.#waiting = true;
    this.#output.out(`${why} Trying to reconnect…\n`);
  }

  problem({ code, text }: ConnectionProblem): void {
    if (code === 'visitor-gone') return;
    const now = this.#clock.now();
    const last = this.#saidAt.get(code);
    if (last !== undefined && now - last < REPEAT_AFTER_MS) return;
    this.#saidAt.set(code, now);
    this.#output.out(`${textOf(text)}\n`);
  }

  approvalRequest(knock: KnockMessage, { slug }: Tunnel): void {
    const { id, address, agent, client } = knock;
    const person = agent === '' ? address : `${address} (${escapeVisitorText(agent)})`;
    const who = client === undefined ? person : `An ${agentText(client)}`;
    const from = client === undefined ? '' : `, from ${person}`;
    this.#output.out(
      `${who} is asking for access${from}. To respond, run "culvert knock ${slug} ${id} --admit" or --refuse.\n`,
    );
  }

  expiring({ slug, expires_at }: Tunnel, leftMs: number, why?: string): void {
    const when = `The tunnel expires in ${timeLeft(leftMs)}, at ${localTime(expires_at)}`;
    this.#output.out(
      why === undefined
        ? `${when}. To extend it, run "culvert extend ${slug}".\n`
        : `${when}, because it could not be extended. The command keeps trying. ${why}\n`,
    );
  }

  offline(reason: EndReason, why: string): void {
    if (reason === 'stopped') this.#output.out(`${why}\n`);
    else this.#output.err(`${why}\n`);
  }
}

/** Puts the label before every line, and the name of the program before every error. */
function labelled(output: Output, label: string | undefined): Output {
  const prefix = label === undefined ? '' : `${label}: `;
  return {
    out: (text) => output.out(prefixLines(prefix, text)),
    err: (text) => output.err(prefixLines(`culvert: ${prefix}`, text)),
  };
}

function prefixLines(prefix: string, text: string): string {
  return text.replace(/^(?=.)/gm, prefix);
}

/** Follows when a tunnel expires. */
export const KEPT_OPEN = ', extended while the command runs';

/** Where hosts are forwarded that have a port of their own. */
function hostsText({ target }: TunnelSpec): string {
  return Object.entries(hostsOf(target) ?? {})
    .map(([host, port]) => `${host.padEnd(12)} port ${port}\n`)
    .join('');
}

function greeting(tunnel: Tunnel, spec: TunnelSpec): string {
  const { public_url, urls, access } = tunnel;
  const lock = describeAccess(access);
  const others = [urls.account, urls.subdomain, urls.path, urls.wildcard].filter(
    (url) => url !== undefined && url !== public_url,
  );
  const lifetime = tunnel.idle_ttl
    ? `after ${lifetimeText(tunnel.ttl)} without traffic`
    : `${localTime(tunnel.expires_at)} (in ${lifetimeText(tunnel.ttl)})${isKeptOpen(spec) ? KEPT_OPEN : ''}`;
  return (
    `Online at    ${public_url}\n` +
    others.map((url) => `also at      ${url}\n`).join('') +
    (lock === undefined ? '' : `Access       ${lock}\n`) +
    (spec.madePassword === undefined ? '' : `Password     ${spec.madePassword}\n`) +
    madeTokens(access)
      .map(({ name, token }) => `Token        ${name}: ${token}\n`)
      .join('') +
    `Forwards to  ${escapeUnprintable(localUrl(spec.target))}\n` +
    hostsText(spec) +
    (spec.rehearsal === undefined ? '' : `Rehearsal    ${spec.rehearsal.text}\n`) +
    `Expires      ${lifetime}\n`
  );
}
