/** What the owner allows an agent: bounds, and consent. All of it is checked here, before anything reaches the relay. */
import type { Access } from '../../../shared/access.ts';
import { parseDuration, typedDuration } from '../../../shared/duration.ts';
import type { Protocol, Tunnel } from '../../../shared/tunnel.ts';
import type { Clock } from '../../client/clock.ts';
import type { Message } from '../../client/messages.ts';
import type { AskOwner } from '../../client/owner-questions.ts';
import { Turns } from '../../client/turns.ts';
import { ToolFailure } from './tool-json.ts';

/** How long `culvert mcp --ask` waits for a person. Without an answer, the action is refused. */
export const MCP_ASK_TIMEOUT_MS = 5 * 60_000;
/** Maximum number of questions of `culvert mcp --ask` that wait for a person. More are refused. */
export const MCP_QUESTIONS_MAX = 8;

/** Both ends are included. */
export interface PortRange {
  readonly from: number;
  readonly to: number;
}

export interface Bounds {
  /** local ports that tunnels may have; `undefined` for all */
  readonly ports: readonly PortRange[] | undefined;
  /** s; `undefined` for what the relay allows */
  readonly maxTtl: number | undefined;
  /** whether no tunnel may be open to anyone */
  readonly requireAccess: boolean;
  /** whether tunnels may carry other protocols than HTTP */
  readonly allowTcp: boolean;
  /** whether a person approves what makes something public */
  readonly ask: boolean;
}

/** @throws ToolFailure */
export function checkPort({ ports }: Bounds, port: number): void {
  if (ports === undefined || ports.some(({ from, to }) => port >= from && port <= to)) return;
  throw new ToolFailure(
    `Port ${port} is not allowed. The owner allows ${describePorts(ports)} (--ports of culvert mcp).`,
  );
}

export function describePorts(ports: readonly PortRange[]): string {
  return ports.map(({ from, to }) => (from === to ? `port ${from}` : `ports ${from} to ${to}`)).join(', ');
}

/**
 * The time to live of a new tunnel.
 *
 * @param ttl a duration string; without it, the longest one that the owner allows, or the relay's default
 * @throws ToolFailure
 */
export function boundedTtl({ maxTtl }: Bounds, ttl: string | undefined): string | undefined {
  if (maxTtl === undefined) return ttl;
  if (ttl === undefined) return typedDuration(maxTtl);
  if ((parseDuration(ttl) ?? Infinity) <= maxTtl) return ttl;
  throw new ToolFailure(
    `"ttl" is ${JSON.stringify(ttl)}, but the owner allows at most ${typedDuration(maxTtl)} (--max-ttl of culvert mcp).`,
  );
}

/**
 * What is added to the lifetime of a tunnel. Afterwards it ends at most `maxTtl` from now.
 *
 * @param ttl a duration string; without it, as much as the owner allows, or the tunnel's own time to live
 * @param now ms since the epoch, by the relay's clock
 * @throws ToolFailure
 */
export function boundedExtension(
  { maxTtl }: Bounds,
  { expires_at }: Pick<Tunnel, 'expires_at'>,
  ttl: string | undefined,
  now: number,
): string | undefined {
  if (maxTtl === undefined) return ttl;
  const left = Math.max(0, Math.ceil((Date.parse(expires_at) - now) / 1000));
  const room = maxTtl - left;
  const added = ttl === undefined ? room : (parseDuration(ttl) ?? Infinity);
  if (room >= 1 && added <= room) return `${added}s`;
  throw new ToolFailure(
    `The tunnel ends in ${typedDuration(left)}, and the owner allows at most ${typedDuration(maxTtl)} from now ` +
      `(--max-ttl of culvert mcp), so ${room < 1 ? 'it cannot be extended yet' : `at most ${typedDuration(room)} can be added`}.`,
  );
}

/**
 * A list of networks alone does not count as an access policy, because `0.0.0.0/0` and `::/0` are networks.
 *
 * @throws ToolFailure
 */
export function checkAccess(
  { requireAccess }: Bounds,
  { basic, password, links, knock, tokens, sign_in }: Access,
): void {
  const lists = [basic, tokens, sign_in].some(({ length }) => length > 0);
  const isGuarded = lists || password !== undefined || links || knock || !requireAccess;
  if (isGuarded) return;
  throw new ToolFailure(
    'The owner does not allow tunnels that are open to anyone (--require-access of culvert mcp). ' +
      'Set at least one of password, links, knock, tokens and sign_in.',
  );
}

/** @throws ToolFailure */
export function checkProtocol({ allowTcp }: Bounds, protocol: Protocol): void {
  if (allowTcp || protocol === 'http') return;
  throw new ToolFailure('The owner allows only tunnels for HTTP (no --allow-tcp of culvert mcp).');
}

/* `culvert mcp --ask`: a person approves each action that makes something public. */

interface ConsentOptions {
  readonly clock: Clock;
  /** in the order in which they are tried */
  readonly askers: readonly AskOwner[];
}

/** Asks one question at a time. An answer is for its question only. */
export class Consent {
  readonly #options: ConsentOptions;
  #waiting = 0;
  readonly #turns = new Turns();

  constructor(options: ConsentOptions) {
    this.#options = options;
  }

  /**
   * @param question what the agent wants to do
   * @param cancelled the agent no longer wants it
   * @throws ToolFailure unless a person agrees within {@link MCP_ASK_TIMEOUT_MS}
   */
  async ask(question: Message, cancelled: AbortSignal): Promise<void> {
    if (this.#waiting >= MCP_QUESTIONS_MAX)
      throw new ToolFailure(
        `${MCP_QUESTIONS_MAX} questions are waiting for the owner, which is the maximum. Try again once they are answered.`,
      );
    this.#waiting += 1;
    const timedOut = new AbortController();
    const timer = this.#options.clock.setTimeout(() => timedOut.abort(), MCP_ASK_TIMEOUT_MS);
    const ended = AbortSignal.any([cancelled, timedOut.signal]);
    const aborted = new Promise<false>((resolve) => {
      ended.addEventListener('abort', () => resolve(false), { once: true });
      if (ended.aborted) resolve(false);
    });
    const turn = this.#turns.take(() => (ended.aborted ? false : this.#askSomewhere(question, ended)));
    try {
      const agrees = await Promise.race([turn, aborted]);
      if (ended.aborted)
        throw new ToolFailure(
          cancelled.aborted
            ? 'The call was cancelled.'
            : `The owner did not answer within ${MCP_ASK_TIMEOUT_MS / 60_000} minutes, so the action was refused.`,
        );
      if (agrees === undefined)
        throw new ToolFailure(
          'The owner must approve this (--ask of culvert mcp), but nobody can be asked. Start the Culvert app, ' +
            'or "culvert ui" in a terminal, or start culvert mcp from a terminal.',
        );
      if (!agrees) throw new ToolFailure('The owner refused this.');
    } finally {
      timer.cancel();
      this.#waiting -= 1;
    }
  }

  async #askSomewhere(question: Message, ended: AbortSignal): Promise<boolean | undefined> {
    for (const asker of this.#options.askers) {
      const answer = await asker(question, ended);
      if (answer !== undefined || ended.aborted) return answer;
    }
    return undefined;
  }
}
