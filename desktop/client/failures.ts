import { API_ERRORS } from '../../shared/errors.ts';
import { withoutEnd } from '../../shared/unprintable.ts';
import type { OfflineReason } from './control/verdict.ts';
import { MessageError, toMessage } from './messages.ts';
import { refusesKey, RelayRefusal, RelayUnreachable } from './relay/errors.ts';

/** Describes a failed call of the REST interface, and what to do about it. */
export function describeFailure(error: unknown): string {
  const text = withoutEnd(error instanceof Error ? error.message : String(error));
  if (error instanceof RelayUnreachable) {
    return `${text}. Check --relay or CULVERT_RELAY, or run "culvert doctor" to find the cause.`;
  }
  if (error instanceof NameInUse) return `${text}. ${error.fix}`;
  if (!(error instanceof RelayRefusal)) return `${text}.`;
  if (refusesKey(error))
    return `The relay rejected the API key: ${text}. Run "culvert login", or check --key or CULVERT_API_KEY.`;
  if (error.code === API_ERRORS.nameReserved.code)
    return 'The name is reserved by the relay. Choose another name, or leave it out for a random one.';
  // A relay may also report this for names that it reserves.
  if (error.is(API_ERRORS.nameTaken))
    return (
      `The relay rejected the request: ${text}. Another account is using it, or the relay reserves it, as it does with www and api. ` +
      'Choose another name, or leave it out for a random one.'
    );
  if (error.is(API_ERRORS.linksOff))
    return `The relay rejected the request: ${text}. Run "culvert access" with --links and any other access options that you want.`;
  if (error.is(API_ERRORS.domainInUse))
    return `The relay rejected the request: ${text}. "culvert list" shows that tunnel, and "culvert close" closes it.`;
  if (error.is(API_ERRORS.domainNotFound) || error.is(API_ERRORS.domainNotVerified))
    return `The relay rejected the request: ${text}. "culvert domain" adds domains and shows what is missing.`;
  if (!error.isOwn && error.status !== 401)
    return (
      `The server responded with status ${error.status}, but not as a Culvert relay. ` +
      'Check --relay or CULVERT_RELAY, and any proxy in front of the relay.'
    );
  if (error.status !== 429) return `The relay rejected the request: ${text}.`;
  const seconds = Math.ceil((error.retryAfterMs ?? 0) / 1000);
  return `The relay rejected the request: ${text}. Try again in ${seconds === 0 ? 'a minute' : `${seconds} s`}.`;
}

/** Who chose a tunnel's name: a person typed it, a `culvert.yml` has it, or a program made it up or derived it. */
export type NameSource = 'person' | 'file' | 'program';

/** Why a live tunnel of the account keeps its name: another client serves it, its policy differs, a program asks for it. */
export type NameObstacle = 'online' | 'access' | 'program';

/** The account has a live tunnel with the wanted name, which this client leaves alone (config/claims.ts). */
export class NameInUse extends MessageError {
  /** what the user of a command can do */
  readonly fix: string;

  constructor(name: string, obstacle: NameObstacle, from: NameSource) {
    super(toMessage(`name.${obstacle}`, { name }));
    this.name = 'NameInUse';
    const close = `close the tunnel with "culvert close ${name}"`;
    const takeOver = from === 'file' ? ', or take it over with --take-over' : '';
    this.fix = {
      online: `Stop that client, or ${close}${takeOver}.`,
      access: `To replace its policy, use --take-over. Otherwise, ${close}.`,
      program: `Choose another name, or ${close}.`,
    }[obstacle];
  }
}

/** @param retryInMs ms until a tunnel is requested again that the relay refused with 429 */
export function describeWait(retryInMs: number): string {
  return `The relay limits how many tunnels you can create per minute. Trying again in ${Math.ceil(retryInMs / 1000)} s.`;
}

/** An invalid command line. The message names the field and what it accepts. */
export class UsageError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = ExitCode.usage) {
    super(message);
    this.name = 'UsageError';
    this.exitCode = exitCode;
  }
}

/** Exit codes of `culvert`. */
export const ExitCode = {
  /** ended with Ctrl-C, or finished */
  ok: 0,
  failed: 1,
  usage: 2,
  keyRefused: 3,
  /** the tunnel was closed or has expired */
  gone: 4,
  /** another client has taken the tunnel over */
  replaced: 5,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** What the help and docs/reference/exit-codes.md say about each. */
export const EXIT_CODE_MEANINGS: Readonly<Record<ExitCode, string>> = {
  0: 'The command succeeded, or you ended it with Ctrl-C.',
  1: 'The command failed.',
  2: 'Usage error, invalid culvert.yml, or missing API key.',
  3: 'The relay refused the API key.',
  4: 'The tunnel was closed or has expired.',
  5: 'Another client took over the tunnel.',
};

/** The exit code for a tunnel that went offline. */
export function exitCodeOf(reason: OfflineReason): ExitCode {
  switch (reason) {
    case 'stopped':
      return ExitCode.ok;
    case 'closed':
    case 'expired':
    case 'gone':
      return ExitCode.gone;
    case 'replaced':
      return ExitCode.replaced;
    case 'key-refused':
      return ExitCode.keyRefused;
    case 'refused':
      return ExitCode.failed;
  }
}

/** The exit code for a call of the REST interface that failed. */
export function exitCodeOfFailure(error: unknown): ExitCode {
  return refusesKey(error) ? ExitCode.keyRefused : ExitCode.failed;
}
