/**
 * Clients that ask for access: known by a document, or by their registration (RFC 7591). A registration is sealed in
 * the client's id, so that a flood of them costs no memory.
 */
import { randomBytes } from 'node:crypto';
import type { Seals } from '../access/seals.ts';
import type { CreateLimiter, Rate } from '../rate-limiter.ts';
import { sha256 } from './agent-tokens.ts';
import { type ClientDocuments, type ClientMetadata, isDocumentId } from './client-documents.ts';
import { shownHost } from './redirect-uris.ts';
import { REGISTRATION_SECONDS, type Registrations } from './registrations.ts';

/**
 * Maximum number of clients that an IP address may register per hour.
 *
 * @limit visitor: MCP clients that register, from one IP address | 429 `too_many_requests`
 */
export const REGISTRATIONS_PER_HOUR = 10;
export const REGISTRATION_RATE: Rate = {
  perMinute: REGISTRATIONS_PER_HOUR / 60,
  burst: REGISTRATIONS_PER_HOUR,
};
/** Maximum length of all that a client registers: it is in each address of its authorization. */
export const REGISTRATION_MAX_LENGTH = 1200;

/** A client that is known. */
export interface Client extends ClientMetadata {
  readonly id: string;
  /** of its id */
  readonly hash: string;
  /** host of its document; `undefined` for one that has registered */
  readonly host: string | undefined;
}

/** What people decide by: nobody but the owner of that host can be it. */
export function hostOfClient({ host }: Client, redirectUri: string): string {
  return host ?? shownHost(redirectUri);
}

/** The content of a registered client's id. */
interface Registration extends ClientMetadata {
  /** the list that it was entered in */
  readonly at: string;
  readonly serial: string;
}

const PREFIX = 'registered.';
const PURPOSE = 'registration';

interface ClientsOptions {
  readonly documents: Pick<ClientDocuments, 'find'>;
  readonly seals: Seals;
  /** registrations, by address */
  readonly limit: CreateLimiter;
  readonly registrations: Registrations;
}

export class Clients {
  readonly #options: ClientsOptions;

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  /**
   * @param network of the visitor
   * @returns `undefined` for one that is unknown, or not any more
   * @throws BusyError
   */
  async find(id: string, network: string): Promise<Client | undefined> {
    const hash = sha256(id);
    if (!isDocumentId(id)) {
      const registration = this.#open(id);
      const isKnown =
        registration && (await this.#options.registrations.has(registration.at, registration.serial));
      return isKnown ? { ...registration, id, hash, host: undefined } : undefined;
    }
    const client = await this.#options.documents.find(id, network);
    return client && { ...client, id, hash, host: new URL(id).hostname };
  }

  /**
   * @param address of the client, if it is limited
   * @returns its id; or the seconds after which it may try again
   */
  async register(metadata: ClientMetadata, address: string | undefined): Promise<string | number> {
    const wait = address === undefined ? 0 : await this.#options.limit.take(`registration ${address}`);
    if (wait > 0) return wait;
    const serial = randomBytes(9).toString('base64url');
    const at = await this.#options.registrations.add(serial);
    const content: Registration = { ...metadata, at, serial };
    return `${PREFIX}${this.#options.seals.seal(PURPOSE, content, REGISTRATION_SECONDS)}`;
  }

  /** Somebody has approved the client. */
  async noteApproved({ id }: Client): Promise<void> {
    const registration = this.#open(id);
    if (registration !== undefined) await this.#options.registrations.approve(registration.serial);
  }

  #open(id: string): Registration | undefined {
    if (!id.startsWith(PREFIX)) return undefined;
    const opened = this.#options.seals.open(PURPOSE, id.slice(PREFIX.length));
    return opened === undefined || opened.isLate ? undefined : (opened.content as Registration);
  }
}
