/**
 * Messages that relays send each other through Redis. Those that a relay writes are JSON, sealed; those of a script that
 * runs in Redis are words separated by single spaces, because Redis does not know the cluster's secret.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import { type RelayProblem, UUID_PATTERN } from '../../shared/control.ts';
import type { Clock, Timer } from '../clock.ts';
import type { DomainNews, TunnelNews } from '../tunnels/lifecycle.ts';
import { RELAY_NUMBER_MAX } from './connection-id.ts';

/** Milliseconds between two checks of how much time has passed. */
export const CHANGE_POLL_MS = 500;
/**
 * How long the process can be suspended before other relays may have taken over its tunnels; far below the
 * lease.
 */
export const CHANGE_LEAP_MS = 3000;

/** The channel that all relays subscribe to. */
export const ALL_CHANNEL = 'culvert:all';

const SEALED = 'sealed';
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Cached keys of relays, more than a cluster has relays. */
const SEAL_KEYS_MAX = 256;

/** The channel of one relay. */
export function channelOf(incarnation: string): string {
  return `culvert:to:${incarnation}`;
}

type News = RedisNews | RelayNews;

/** Messages of scripts about the content of Redis, which anyone with write access to Redis can change anyway. */
type RedisNews =
  /** to one relay: another relay has a control socket with this fencing number */
  | { readonly kind: 'replaced'; readonly tunnelId: string; readonly fence: number }
  /** to all: a client has connected to the one with this incarnation */
  | { readonly kind: 'online'; readonly tunnelId: string; readonly relay: string }
  /** to all: a client has left one of them */
  | { readonly kind: 'offline'; readonly tunnelId: string }
  /** to all: a relay has joined */
  | {
      readonly kind: 'relay';
      readonly number: number;
      readonly incarnation: string;
      /** its address, with its proof (members.ts) */
      readonly record: string;
    };

/** Messages of relays. They grant and revoke access, so only relays of the cluster may send or read them. */
export type RelayNews =
  /** to all: the owner of a tunnel should be told about a problem */
  | { readonly kind: 'problem'; readonly tunnelId: string; readonly problem: RelayProblem }
  /** to all: a relay is shutting down, and data sockets should not pass through it longer than necessary */
  | { readonly kind: 'leaving'; readonly incarnation: string }
  /** to all: one of them could not send its notifications about tunnels */
  | { readonly kind: 'missed' }
  | TunnelNews
  | DomainNews;

/**
 * Seals news for the other relays of the cluster: AES-256-GCM (NIST SP 800-38D) with a key for each run of a relay,
 * and a counter as the nonce. Sealed news may be replayed: they then contain nothing that was not true before.
 */
export class NewsSeal {
  readonly #incarnation: string;
  readonly #secret: string;
  /** by incarnation */
  readonly #keys = new Map<string, Buffer>();
  #count = 0n;

  /**
   * @param incarnation of this relay
   * @param secret known only to the relays of the cluster
   */
  constructor(incarnation: string, secret: string) {
    this.#incarnation = incarnation;
    this.#secret = secret;
  }

  /**
   * @returns three words: `sealed`, the incarnation of this relay, and text that only relays of the cluster can read
   */
  seal(news: RelayNews): string {
    const nonce = Buffer.alloc(NONCE_BYTES);
    nonce.writeBigUInt64BE((this.#count += 1n));
    const cipher = createCipheriv(CIPHER, this.#keyOf(this.#incarnation), nonce);
    const sealed = Buffer.concat([
      nonce,
      cipher.update(JSON.stringify(news)),
      cipher.final(),
      cipher.getAuthTag(),
    ]);
    return `${SEALED} ${this.#incarnation} ${sealed.toString('base64url')}`;
  }

  /**
   * @param incarnation of the relay that has sealed it
   * @returns `undefined` if no relay of the cluster has
   */
  open(incarnation: string, sealed: string): RelayNews | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#keyOf(incarnation), bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    try {
      return JSON.parse(Buffer.concat([text, decipher.final()]).toString()) as RelayNews;
    } catch {
      return undefined;
    }
  }

  #keyOf(incarnation: string): Buffer {
    const known = this.#keys.get(incarnation);
    if (known !== undefined) return known;
    if (this.#keys.size >= SEAL_KEYS_MAX) this.#keys.clear();
    const key = createHmac('sha256', this.#secret).update(`culvert-news/1 ${incarnation}`).digest();
    this.#keys.set(incarnation, key);
    return key;
  }
}

/** Characters of the longest message: a tunnel's name, a domain and a word before them, sealed. */
const NEWS_MAX_LENGTH = 2048;
const INCARNATION = /^[\w-]{1,64}$/;
/** As members.ts writes and proves it. */
const RECORD = /^[\w.:[\]%-]{1,300}~[0-9a-f]{64}$/;

/**
 * Reads a message: Redis may be shared with other programs.
 *
 * @returns `undefined` for one that should have been sealed by a relay of the cluster but was not, and for anything else
 *   that no relay writes
 */
export function readNews(text: string, seal: NewsSeal): News | undefined {
  if (text.length > NEWS_MAX_LENGTH) return undefined;
  const words = text.split(' ');
  const [kind, incarnation = '', sealed = ''] = words;
  if (kind !== SEALED) return readRedisNews(words);
  if (words.length !== 3 || !INCARNATION.test(incarnation)) return undefined;
  return seal.open(incarnation, sealed);
}

function readRedisNews([kind = '', first = '', second = '', third = '']: readonly string[]):
  RedisNews | undefined {
  const number = readNumber(second);
  switch (kind) {
    case 'replaced':
      return isId(first) && number !== undefined ? { kind, tunnelId: first, fence: number } : undefined;
    case 'online':
      return isId(first) && INCARNATION.test(second) ? { kind, tunnelId: first, relay: second } : undefined;
    case 'offline':
      return isId(first) ? { kind, tunnelId: first } : undefined;
    case 'relay':
      return readRelay(readNumber(first), second, third);
    default:
      return undefined;
  }
}

function readRelay(number: number | undefined, incarnation: string, record: string): RedisNews | undefined {
  if (number === undefined || number < 1 || number > RELAY_NUMBER_MAX) return undefined;
  if (!INCARNATION.test(incarnation) || !RECORD.test(record)) return undefined;
  return { kind: 'relay', number, incarnation, record };
}

/** @returns a whole number; `undefined` for anything else: NaN would break every comparison */
export function readNumber(text: unknown): number | undefined {
  return typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}

function isId(text: string): boolean {
  return UUID_PATTERN.test(text);
}

/*
 * Notices that the process was paused: stopped, suspended, or starved. Other relays may have taken over its tunnels,
 * so none of them may be served until that has been checked.
 */

interface ChangeNotifierOptions {
  /** called after a pause of this many ms; the process is steady again when the promise is fulfilled */
  readonly leapt: (ms: number) => Promise<void>;
  /** called when it is steady again */
  readonly steady: () => void;
}

export class ChangeNotifier {
  readonly #clock: Clock;
  readonly #options: ChangeNotifierOptions;
  #at: number;
  #timer: Timer | undefined;
  #checking = false;

  constructor(clock: Clock, options: ChangeNotifierOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#at = clock.monotonic();
  }

  /** Checked before each use, because the event that woke the process may arrive before any timer. */
  get isSteady(): boolean {
    this.#look();
    return !this.#checking;
  }

  start(): void {
    this.#look();
    this.#timer = this.#clock.setTimeout(() => this.start(), CHANGE_POLL_MS);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #look(): void {
    const now = this.#clock.monotonic();
    const gap = now - this.#at;
    this.#at = now;
    if (gap < CHANGE_LEAP_MS || this.#checking) return;
    this.#checking = true;
    void this.#check(gap);
  }

  async #check(gap: number): Promise<void> {
    await this.#options.leapt(gap);
    this.#checking = false;
    this.#options.steady();
  }
}
