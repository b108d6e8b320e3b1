/** What operators enter, on the command line or through the API: read by the same rules, refused in their own words. */
import { parseDuration, typedDuration } from '../../shared/duration.ts';
import { type Plan, PLANS } from '../../shared/tunnel.ts';
import { hasUnprintable } from '../../shared/unprintable.ts';
import { NAME_PATTERN, TTL_MIN_SECONDS } from '../../shared/value-rules.ts';
import { SCOPE_WORDS } from '../accounts/api-keys.ts';
import type { KeyScope } from '../store/records.ts';

/** Longest lifetime that a key can be given. */
export const KEY_TTL_CEILING_SECONDS = 10 * 365 * 24 * 3600;
/** Maximum length of a key's label. */
export const KEY_LABEL_MAX_LENGTH = 100;
/** Maximum length of the prefix of an agent's names: the rest is for the names themselves. */
const AGENT_PREFIX_MAX_LENGTH = 32;
/** Maximum length of the reason for a suspension. */
export const REASON_MAX_LENGTH = 200;
/** Longest lifetime of an invitation. */
export const INVITE_TTL_CEILING_SECONDS = 90 * 24 * 3600;

/** Seconds that an invitation is valid by default. */
export const INVITE_DEFAULT_TTL_SECONDS = 24 * 3600;
/** What the names of an agent's tunnels begin with, unless the operator chooses another prefix. */
export const AGENT_PREFIX_DEFAULT = 'agent';

/** Long enough for a person's or a team's name, on one line. */
const ACCOUNT_NAME = /^\S(?:.{0,98}\S)?$/u;
export const ACCOUNT_NAME_RULE =
  'the name of an account, 1-100 characters without control characters or spaces at the ends';
export const SUBDOMAIN_RULE =
  '2-63 lowercase letters, digits and hyphens, not starting or ending with a hyphen';
const LABEL_RULE = `at most ${KEY_LABEL_MAX_LENGTH} characters without control characters`;
const SCOPE_NAME_RULE = `the name of a tunnel, 2-63 lowercase letters, digits and hyphens, other than ${SCOPE_WORDS.join(', ')}`;
const AGENT_PREFIX = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const AGENT_PREFIX_RULE = `1-${AGENT_PREFIX_MAX_LENGTH} lowercase letters and digits, with single hyphens between them`;

/** Names reserved for the relay itself. */
export interface OwnNames {
  readonly reservedNames: ReadonlySet<string>;
  readonly serviceDomain: string;
  readonly tunnelDomain: string;
  readonly publicUrl: URL | undefined;
}

/** What a command can contain, and no call of the API. Each method may throw a CommandError. */
interface CommandLine {
  /** The command was given wrongly. */
  misused(line: string): never;
  /** It cannot be done. */
  failed(line: string): never;
  /**
   * The lines of the file that it reads with `--from`, trimmed, without empty ones.
   *
   * @param max how many there may be
   * @param what they contain
   */
  lines(max: number, what: string): string[];
}

/** Each reader refuses a value that breaks its rule, by throwing. */
export abstract class Given {
  /** `undefined` for a call of the API */
  abstract readonly command: CommandLine | undefined;
  abstract readonly own: OwnNames;
  /** Whether numbers are written as text. */
  protected abstract readonly isText: boolean;

  /** @returns the value of a field as it was given; `undefined` for none */
  protected abstract value(field: string): unknown;
  abstract refuse(field: string, rule: string): never;

  /** Whether a field has a value. */
  has(field: string): boolean {
    return (this.value(field) ?? undefined) !== undefined;
  }

  accountName(field: string): string {
    const name = this.value(field);
    return isAccountName(name) ? name : this.refuse(field, ACCOUNT_NAME_RULE);
  }

  /** The account whose keys or tunnels to list; `undefined` for all accounts. */
  accountFilter(): string | undefined {
    return this.value('account') === undefined ? undefined : this.accountName('account');
  }

  plan(byDefault?: Plan): Plan {
    const plan = this.value('plan') ?? byDefault;
    return PLANS.find((known) => known === plan) ?? this.refuse('plan', `one of ${PLANS.join(', ')}`);
  }

  /** @param isRequired so that an empty body by mistake removes nothing; `null` is a value then */
  subdomain(isRequired = false): string | null {
    const given = this.value('subdomain');
    if (given === null || (given === undefined && !isRequired)) return null;
    if (isSubdomain(given) && !isReserved(given, this.own)) return given;
    if (this.command === undefined)
      return this.refuse('subdomain', `${SUBDOMAIN_RULE}, and not reserved; or null`);
    if (!isSubdomain(given)) return this.refuse('subdomain', SUBDOMAIN_RULE);
    return this.command.failed(`the subdomain "${given}" is reserved; choose a different one`);
  }

  /** The reason of a suspension, trimmed. The API ends a suspension by `null`, and requires the field, as above. */
  reason(): string | null {
    const given = this.value('reason');
    if (given === null) return null;
    const isReason =
      typeof given === 'string' &&
      given.length <= REASON_MAX_LENGTH &&
      !hasUnprintable(given) &&
      given.trim() !== '';
    if (isReason) return given.trim();
    const rest = this.command === undefined ? 'or null' : "the account's owner sees it";
    return this.refuse('reason', `1-${REASON_MAX_LENGTH} characters without control characters; ${rest}`);
  }

  label(): string {
    const label = this.value('label') ?? '';
    return isLabel(label) ? label : this.refuse('label', LABEL_RULE);
  }

  /**
   * @param max the longest, in seconds
   * @returns seconds; `undefined` when it is not given
   */
  ttl(field: string, max: number): number | undefined {
    if (!this.has(field)) return undefined;
    return readTtl(this.value(field), max) ?? this.refuse(field, ttlRule(max));
  }

  count(max: number, byDefault: number): number {
    if (!this.has('count')) return byDefault;
    const given = this.value('count');
    const isDigits = this.isText && typeof given === 'string' && /^\d{1,6}$/.test(given);
    const count = isDigits ? Number(given) : given;
    if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= max) return count;
    return this.refuse('count', `a ${this.command === undefined ? 'whole ' : ''}number from 1 to ${max}`);
  }

  flag(field: string): boolean {
    const given = this.value(field) ?? false;
    return typeof given === 'boolean' ? given : this.refuse(field, 'true or false');
  }

  /**
   * The scope of a new key: the whole account, with or without its people, the tunnel with one name, an agent's, or the
   * relay's administration, which only a command can choose.
   */
  scope(): KeyScope {
    const isOwner = this.flag('owner');
    const isAdmin = this.command !== undefined && this.flag('admin');
    const name = this.value('name') ?? undefined;
    if (this.flag('agent')) {
      this.#alone('owner', isAdmin || isOwner, "false for an agent's key");
      this.#alone('name', name !== undefined, "missing for an agent's key, which has a prefix");
      return { kind: 'agent', prefix: this.#agentPrefix() };
    }
    this.#alone('owner', isOwner && name !== undefined, 'false for a key that is limited to a tunnel');
    this.#alone('admin', isAdmin && (isOwner || name !== undefined), 'alone');
    if (this.has('prefix')) {
      this.command?.misused('--prefix can only be used with --agent');
      this.refuse('agent', 'true for a key with a prefix');
    }
    if (name === undefined) return { kind: isAdmin ? 'admin' : isOwner ? 'owner' : 'all' };
    const isName = typeof name === 'string' && NAME_PATTERN.test(name) && !SCOPE_WORDS.includes(name);
    return isName ? { kind: 'tunnel', name } : this.refuse('name', SCOPE_NAME_RULE);
  }

  #agentPrefix(): string {
    const prefix = this.value('prefix') ?? AGENT_PREFIX_DEFAULT;
    if (typeof prefix === 'string' && prefix.length <= AGENT_PREFIX_MAX_LENGTH && AGENT_PREFIX.test(prefix))
      return prefix;
    const given = this.command === undefined ? '' : `, not ${JSON.stringify(prefix)}`;
    return this.refuse('prefix', `${AGENT_PREFIX_RULE}${given}`);
  }

  #alone(field: string, isWrong: boolean, rule: string): void {
    if (!isWrong) return;
    this.command?.misused(
      '--admin, --owner, --agent and --name cannot be combined: a key is for administration, for an owner, for an agent or for a tunnel',
    );
    this.refuse(field, rule);
  }
}

/* Rules that others check as well. */

/**
 * Whether a text can be the label of a key. Labels are shown in terminals, and that of a key from an invitation is
 * chosen by a stranger.
 */
export function isLabel(given: unknown): given is string {
  return typeof given === 'string' && given.length <= KEY_LABEL_MAX_LENGTH && !hasUnprintable(given);
}

/** @returns seconds, from the shortest life that the relay supports to `max`; `undefined` for anything else */
export function readTtl(given: unknown, max: number): number | undefined {
  const seconds = typeof given === 'string' ? parseDuration(given) : undefined;
  return seconds !== undefined && seconds >= TTL_MIN_SECONDS && seconds <= max ? seconds : undefined;
}

/** @param max seconds */
export function ttlRule(max: number): string {
  return `a duration from ${TTL_MIN_SECONDS}s to ${typedDuration(max)}, such as 720h`;
}

export function isAccountName(given: unknown): given is string {
  return typeof given === 'string' && ACCOUNT_NAME.test(given) && !hasUnprintable(given);
}

export function isSubdomain(given: unknown): given is string {
  return typeof given === 'string' && NAME_PATTERN.test(given);
}

/** Whether no account may have the subdomain: visitors would mistake it for the relay's own. */
export function isReserved(
  subdomain: string,
  { reservedNames, serviceDomain, tunnelDomain, publicUrl }: OwnNames,
): boolean {
  const host = `${subdomain}.${serviceDomain}`;
  return reservedNames.has(subdomain) || [tunnelDomain, publicUrl?.hostname].includes(host);
}
