/** Agents at a tunnel's host: what they find there, and how they get access. */
import { fieldValue } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { type Way, visitorByAgent } from '../access/access-check.ts';
import type { AccessPolicy } from '../access/access-policy.ts';
import type { Seals } from '../access/seals.ts';
import { notFoundResponse } from '../edge/access-pages.ts';
import { type OwnResponse, reply, type Visit } from '../edge/builtin-responses.ts';
import { isHost } from '../edge/route.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { AgentGate, KnownAgent } from './agent-gate.ts';
import { answerLook, LOOK_PARAMETER } from './authorization.ts';
import { ANY_ORIGIN, challenge, PREFLIGHT_FIELDS, resourceMetadata, soughtBy } from './discovery.ts';

/** A request to a tunnel, and how it has come. */
interface Asked {
  readonly head: RequestHead;
  readonly visit: Visit;
  readonly way: Way;
}

interface EntranceOptions {
  readonly gate: Pick<AgentGate, 'find' | 'note'>;
  readonly seals: Seals;
  readonly publicUrl: () => URL;
}

/** An agent as a visitor. */
export interface AgentVisitor {
  readonly id: string;
  /** see server/access/access-check.ts */
  readonly visitor: string;
}

export class AgentEntrance {
  readonly #options: EntranceOptions;

  constructor(options: EntranceOptions) {
    this.#options = options;
  }

  /**
   * Answers a request that is the relay's to answer, at a tunnel that takes agents.
   *
   * @param visitor whom a good pass names
   * @returns `undefined` for any other request
   */
  respond(asked: Asked, visitor: string | undefined): OwnResponse | undefined {
    const { head, visit } = asked;
    // Tunnels in the path form share the host where clients would look.
    if (visit.prefix !== '') return undefined;
    return this.#document(asked) ?? this.#look(head, visit, visitor);
  }

  #document({ head, visit, way }: Asked): OwnResponse | undefined {
    const sought = soughtBy(visit.target);
    if (sought === undefined) return undefined;
    if (head.method === 'OPTIONS') return reply({ status: 204, fields: linesOf(PREFLIGHT_FIELDS) });
    const isRead = head.method === 'GET' || head.method === 'HEAD';
    if (sought.kind === 'server' || !isRead) return notFoundResponse(head);
    const { origin } = this.#options.publicUrl();
    return reply({
      status: 200,
      fields: linesOf(ANY_ORIGIN),
      contentType: 'application/json; charset=utf-8',
      body: JSON.stringify(resourceMetadata(originOf(head, way), sought.path, origin)),
      headOnly: head.method === 'HEAD',
    });
  }

  /** The person at the page of an authorization says to have opened a link here. */
  #look(head: RequestHead, { target, tunnel }: Visit, visitor: string | undefined): OwnResponse | undefined {
    const value = lookedFor(target);
    if (value === undefined || head.method !== 'GET') return undefined;
    const location = answerLook(this.#options, value, tunnel.id, visitor);
    return location === undefined
      ? notFoundResponse(head)
      : reply({ status: 303, fields: `Location: ${location}\r\nReferrer-Policy: no-referrer\r\n` });
  }

  /** @param isWrong whether the agent has sent a token */
  challenge({ head, visit, way }: Asked, isWrong: boolean): string {
    return visit.prefix === ''
      ? challenge(originOf(head, way), visit.target, isWrong)
      : `Bearer realm="culvert"${isWrong ? ', error="invalid_token"' : ''}`;
  }

  /** @returns a promise if the database is asked; it rejects with StoreError or BusyError */
  find(
    tunnel: LiveTunnel,
    access: AccessPolicy,
    token: string,
  ): AgentVisitor | 'wrong' | 'expired' | Promise<AgentVisitor | 'wrong' | 'expired'> {
    const found = this.#options.gate.find(tunnel, access, token);
    return found instanceof Promise ? found.then(visitorOf) : visitorOf(found);
  }

  /** An agent has been admitted. */
  note(id: string): void {
    this.#options.gate.note(id);
  }
}

/** What follows {@link LOOK_PARAMETER} at the start page. */
function lookedFor(target: string): string | undefined {
  return target.startsWith(`/?${LOOK_PARAMETER}`) ? target.slice(LOOK_PARAMETER.length + 2) : undefined;
}

function visitorOf(found: KnownAgent | 'wrong' | 'expired'): AgentVisitor | 'wrong' | 'expired' {
  return typeof found === 'string' ? found : { id: found.id, visitor: visitorByAgent(found) };
}

/** The origin of the host that was asked. */
function originOf({ fields }: RequestHead, { trusted, secure }: Way): string {
  const forwarded = trusted ? fieldValue(fields, 'x-forwarded-host')?.split(',', 1)[0]?.trim() : undefined;
  const host = forwarded !== undefined && isHost(forwarded) ? forwarded : (fieldValue(fields, 'host') ?? '');
  return `${secure ? 'https' : 'http'}://${host.toLowerCase()}`;
}

function linesOf(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
}
