/**
 * Messages that relays send each other through Redis, as text: words separated by single spaces. Those that a relay
 * writes are sealed; those of a script that runs in Redis are not, because Redis does not know the cluster's secret.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import {
  parseControlMessage,
  problemMessage,
  type RelayProblem,
  UUID_PATTERN,
} from '../../shared/control.ts';
import type { Clock, Timer } from '../clock.ts';
import type { DomainNews, EndReason, TunnelNews } from '../tunnels/lifecycle.ts';
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
type RelayNews =
  /** to all: the owner of a tunnel should be told about a problem */
  | { readonly kind: 'problem'; readonly tunnelId: string; readonly problem: RelayProblem }
  /** to all: a relay is shutting down, and data sockets should not pass through it longer than necessary */
  | { readonly kind: 'leaving'; readonly incarnation: string }
  /** to all: one of them could not send its notifications about tunnels */
  | { readonly kind: 'missed' }
  | TunnelNews
  | DomainNews;

/** Makes every relay check for itself. */
export const MISSED = 'missed';

/** A message that a relay is shutting down. */
export function writeLeaving(incarnation: string): string {
  return `leaving ${incarnation}`;
}

export function writeNews(news: TunnelNews | DomainNews): string {
  switch (news.kind) {
    case 'created':
      return `created ${news.slug} ${news.domain}`;
    case 'created-tcp':
      return `created-tcp ${news.slug}`;
    case 'domain':
      return `domain ${news.domain}`;
    case 'access':
      return `access ${news.id}`;
    case 'extended':
      return `extended ${news.id} ${news.expiresAt}`;
    case 'ended':
      return `ended ${news.id} ${news.reason}`;
  }
}

/** For the relay that has the client of a tunnel. */
export function writeProblem(tunnelId: string, problem: RelayProblem): string {
  return `problem ${tunnelId} ${Buffer.from(problemMessage(problem)).toString('base64url')}`;
}

/**
 * Seals texts for the other relays of the cluster: AES-256-GCM (NIST SP 800-38D) with a key for each run of a relay,
 * and a counter as the nonce. A sealed text may be replayed: it then contains nothing that was not true before.
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
  seal(text: string): string {
    const nonce = Buffer.alloc(NONCE_BYTES);
    nonce.writeBigUInt64BE((this.#count += 1n));
    const cipher = createCipheriv(CIPHER, this.#keyOf(this.#incarnation), nonce);
    const sealed = Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
    return `${SEALED} ${this.#incarnation} ${sealed.toString('base64url')}`;
  }

  /**
   * @param incarnation of the relay that has sealed it
   * @returns `undefined` if no relay of the cluster has
   */
  open(incarnation: string, sealed: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#keyOf(incarnation), bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    try {
      return Buffer.concat([text, decipher.final()]).toString();
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
const LABEL = /^[a-z0-9-]{1,63}$/;
const NAME = /^[a-z0-9*._-]{1,253}$/i;
const INCARNATION = /^[\w-]{1,64}$/;
/** As members.ts writes and proves it. */
const RECORD = /^[\w.:[\]%-]{1,300}~[0-9a-f]{64}$/;

/**
 * Reads a message: Redis may be shared with other programs.
 *
 * @returns `undefined` for a message that this version does not know, for one that should have been sealed by a relay
 *   of the cluster but was not, and for anything that no relay writes
 */
export function readNews(text: string, seal: NewsSeal): News | undefined {
  if (text.length > NEWS_MAX_LENGTH) return undefined;
  const words = text.split(' ');
  const [kind, incarnation = '', sealed = ''] = words;
  if (kind !== SEALED) return readRedisNews(words);
  if (words.length !== 3 || !INCARNATION.test(incarnation)) return undefined;
  const opened = seal.open(incarnation, sealed);
  return opened === undefined ? undefined : readRelayNews(opened.split(' '));
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

function readRelayNews([kind = '', first = '', second = '']: readonly string[]): RelayNews | undefined {
  const number = readNumber(second);
  switch (kind) {
    case 'problem':
      return isId(first) ? readProblem(first, second) : undefined;
    case 'leaving':
      return INCARNATION.test(first) ? { kind, incarnation: first } : undefined;
    case MISSED:
      return { kind };
    case 'created':
      return LABEL.test(first) && (second === '' || NAME.test(second))
        ? { kind, slug: first, domain: second }
        : undefined;
    case 'created-tcp':
      return LABEL.test(first) ? { kind, slug: first } : undefined;
    case 'domain':
      return NAME.test(first) ? { kind, domain: first } : undefined;
    case 'access':
      return isId(first) ? { kind, id: first } : undefined;
    case 'extended':
      return isId(first) && number !== undefined ? { kind, id: first, expiresAt: number } : undefined;
    case 'ended':
      return isId(first) && isEndReason(second) ? { kind, id: first, reason: second } : undefined;
    default:
      return undefined;
  }
}

function readProblem(tunnelId: string, encoded: string): RelayNews | undefined {
  try {
    const message = parseControlMessage(Buffer.from(encoded, 'base64url').toString());
    return message?.type === 'problem' ? { kind: 'problem', tunnelId, problem: message } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
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

function isEndReason(text: string): text is EndReason {
  return text === 'closed' || text === 'expired' || text === 'removed' || text === 'displaced';
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
