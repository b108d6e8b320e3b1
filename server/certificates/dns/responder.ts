/** From a packet to its response, whichever way it came. */
import { dnsQuestions } from '../../observe/counters.ts';
import { type Authority, type Question } from './authority.ts';
import type { PendingTexts } from './pending-texts.ts';
import { type Transport, writeTruncated } from './response.ts';
import type { SourceLimits } from './source-limits.ts';
import { DNS_QUERY_MAX_BYTES, DNS_WAITING_MAX } from '../../limits.ts';

export interface ResponderOptions {
  readonly authority: Authority;
  readonly texts: PendingTexts;
  readonly limits: Readonly<Record<Transport, SourceLimits>>;
}

interface Responded {
  readonly response: Buffer | undefined;
  readonly outcome: keyof typeof dnsQuestions;
}

const DROPPED: Responded = { response: undefined, outcome: 'dropped' };

export class Responder {
  readonly #options: ResponderOptions;
  /** questions that wait for the store */
  #waiting = 0;

  constructor(options: ResponderOptions) {
    this.#options = options;
  }

  /**
   * @param address of whoever it is from, or says it is
   * @returns `undefined` for a packet that gets no response. Never rejects.
   */
  async respond(packet: Buffer, address: string, transport: Transport): Promise<Buffer | undefined> {
    const { response, outcome } = await this.#respond(packet, address, transport);
    dnsQuestions[outcome] += 1;
    return response;
  }

  async #respond(packet: Buffer, address: string, transport: Transport): Promise<Responded> {
    if (packet.length > DNS_QUERY_MAX_BYTES || this.#waiting >= DNS_WAITING_MAX) return DROPPED;
    const { authority, limits } = this.#options;
    const read = authority.read(packet, transport);
    if (read === undefined) return DROPPED;
    const allowance = limits[transport].take(address);
    const isRefused = Buffer.isBuffer(read);
    if (allowance === 'serve')
      return isRefused ? { response: read, outcome: 'refused' } : await this.#lookUp(read, transport);
    if (allowance === 'drop' || transport === 'tcp' || isRefused) return DROPPED;
    return { response: writeTruncated(read.query), outcome: 'truncated' };
  }

  async #lookUp(question: Question, transport: Transport): Promise<Responded> {
    const { authority, texts } = this.#options;
    this.#waiting += 1;
    const current = await texts.current();
    this.#waiting -= 1;
    const response = authority.respond(question, current, transport);
    return { response, outcome: current === undefined ? 'failed' : 'answered' };
  }
}
