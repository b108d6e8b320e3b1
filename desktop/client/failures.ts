import type { ALL_API_ERRORS } from '../../shared/errors.ts';
import { withoutEnd } from '../../shared/unprintable.ts';
import type { OfflineReason } from './control/verdict.ts';
import { MessageError, type MessageValue, textOf, toMessage } from './messages.ts';
import { refusesKey, RelayRefusal, RelayUnreachable } from './relay/errors.ts';

/** Who reads of a failure: a person with a terminal, one with a window, or one whose window asks by itself. */
export type Reader = 'command' | 'window' | 'background';

/** What each reader can do about a failure. The command speaks English. */
type Advice = Partial<Readonly<Record<Reader, MessageValue>>>;

export interface Failure {
  /** stable; the relay's own for what it has refused */
  readonly code: string;
  /** of a form, which it belongs to */
  readonly field: string | undefined;
  readonly said: MessageValue;
}

interface Judged extends Pick<Failure, 'field'> {
  readonly code: string | undefined;
  readonly what: MessageValue;
  readonly advice: Advice;
}

/** @returns `undefined` for a bug, which must not be reported as a failure */
export function failureOf(error: unknown, reader: Reader): Failure | undefined {
  if (!(error instanceof MessageError)) return undefined;
  const { code, field, what, advice } = judge(error);
  if (code === undefined) return undefined;
  const toDo = advice[reader] ?? (reader === 'background' ? advice.window : undefined);
  const said = toDo === undefined ? what : toMessage('failure.advised', { what, advice: toDo });
  return { code, field, said };
}

/** The words of a failed call for a command, a library or an agent. */
export function describeFailure(error: unknown): string {
  const failure = failureOf(error, 'command');
  if (failure !== undefined) return textOf(failure.said);
  return `${withoutEnd(error instanceof Error ? error.message : String(error))}.`;
}

function judge(error: MessageError): Judged {
  if (error instanceof RelayRefusal) return judgeRefusal(error);
  if (error instanceof RelayUnreachable) return judgeUnreachable(error);
  const advice = error instanceof NameInUse ? error.advice : {};
  return { code: error.code, field: error.field, what: toSentence(error.said), advice };
}

function judgeUnreachable(error: RelayUnreachable): Judged {
  const what = toSentence(error.said);
  const command = 'Check --relay or CULVERT_RELAY, or run "culvert doctor" to find the cause.';
  const field = 'relay';
  if (hasCertificateCause(error))
    return { code: 'certificate', field, what, advice: { command, window: toMessage('advice.askOperator') } };
  const isReached = error.cause === undefined;
  const window = toMessage(isReached ? 'advice.address' : 'advice.addressAndNetwork');
  const advice = { command, window, background: toMessage('advice.keepsTrying') };
  return { code: isReached ? 'no-relay' : 'unreachable', field, what, advice };
}

function hasCertificateCause(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== undefined && /CERT|SELF_SIGNED|^ERR_TLS|UNABLE_TO_VERIFY/.test(code)) return true;
  }
  return false;
}

function judgeRefusal(error: RelayRefusal): Judged {
  const { status, code = 'refused', isOwn, said: why } = error;
  if (!isOwn && status !== 401)
    return {
      code: 'no-relay',
      field: 'relay',
      what: toMessage('failure.notRelay', { status }),
      advice: {
        command: 'Check --relay or CULVERT_RELAY, and any proxy in front of the relay.',
        window: toMessage('advice.address'),
      },
    };
  const rejected = refusesKey(error) ? 'tunnel.keyRefused' : 'failure.rejected';
  const what = toMessage(status >= 500 ? 'failure.trouble' : rejected, { why });
  if (status >= 500 || status === 429) return { code, field: undefined, what, advice: tryAgain(error) };
  const { field, ...advice } = (isOwn ? ADVICE.get(code) : undefined) ?? {};
  return { code, field, what, advice };
}

function tryAgain({ retryAfterMs = 0 }: RelayRefusal): Advice {
  const seconds = Math.ceil(retryAfterMs / 1000);
  return forAll(seconds === 0 ? toMessage('advice.againInMinute') : toMessage('advice.again', { seconds }));
}

function forAll(advice: MessageValue): Advice {
  return { command: advice, window: advice };
}

type ApiErrorCode = (typeof ALL_API_ERRORS)[number]['code'];

/** What is known of the relay's errors besides their texts, by their codes. */
const ADVICE = new Map<string, Advice & { readonly field?: string }>(
  Object.entries({
    'invalid-key': {
      field: 'key',
      command: 'Run "culvert login", or check --key or CULVERT_API_KEY.',
      window: toMessage('advice.key'),
    },
    'invalid-name': { field: 'name' },
    'invalid-port': { field: 'port' },
    'invalid-ttl': { field: 'ttl' },
    'ttl-too-long': { field: 'ttl' },
    'invalid-access': { field: 'lock' },
    'agent-access': { field: 'lock' },
    'agent-name': { field: 'name' },
    'plan-too-low': { field: 'name', ...forAll(toMessage('advice.noName')) },
    'name-reserved': { field: 'name', ...forAll(toMessage('advice.reservedName')) },
    // A relay may also report this for names that it reserves.
    'name-taken': { field: 'name', ...forAll(toMessage('advice.takenName')) },
    'port-taken': forAll(toMessage('advice.takenPort')),
    'protocol-unavailable': forAll(toMessage('advice.noProtocol')),
    'invalid-domain': { field: 'domain' },
    'domain-taken': { field: 'domain' },
    'domain-fixed': { field: 'domain' },
    'domain-in-use': {
      field: 'domain',
      command: '"culvert list" shows that tunnel, and "culvert close" closes it.',
    },
    'domain-not-found': {
      field: 'domain',
      command: '"culvert domain" adds domains and shows what is missing.',
    },
    'domain-not-verified': {
      field: 'domain',
      command: '"culvert domain" adds domains and shows what is missing.',
    },
    'links-off': { command: 'Run "culvert access" with --links and any other access options that you want.' },
    'tunnel-not-found': { window: toMessage('advice.startAgain') },
    'invitation-not-found': { field: 'relay', ...forAll(toMessage('advice.sender')) },
  } satisfies Partial<Record<ApiErrorCode, Advice & { readonly field?: string }>>),
);

/** A message or a clause, as a sentence of its own. */
export function toSentence(clause: MessageValue): MessageValue {
  return /[.?!]$/.test(textOf(clause)) ? clause : toMessage('project.sentence', { clause });
}

/** Who chose a tunnel's name: a person typed it, a `culvert.yml` has it, or a program made it up or derived it. */
export type NameSource = 'person' | 'file' | 'program';

/** Why a live tunnel of the account keeps its name: another client serves it, its policy differs, a program asks for it. */
export type NameObstacle = 'online' | 'access' | 'program';

/** The account has a live tunnel with the wanted name, which this client leaves alone (config/claims.ts). */
export class NameInUse extends MessageError {
  readonly advice: Advice;

  constructor(name: string, obstacle: NameObstacle, from: NameSource) {
    super(toMessage(`name.${obstacle}`, { name }), { code: 'name-in-use', field: 'name' });
    this.name = 'NameInUse';
    const close = `close the tunnel with "culvert close ${name}"`;
    const takeOver = from === 'file' ? ', or take it over with --take-over' : '';
    const command = {
      online: `Stop that client, or ${close}${takeOver}.`,
      access: `To replace its policy, use --take-over. Otherwise, ${close}.`,
      program: `Choose another name, or ${close}.`,
    }[obstacle];
    this.advice = { command, window: toMessage('advice.usedName') };
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
