/** What went wrong with a call of the page, in words for people and with the field of the form it belongs to. */
import { API_ERRORS } from '../../../shared/errors.ts';
import { NameInUse } from '../../client/failures.ts';
import { NotSaved, OwnerLeft } from '../../client/host/host.ts';
import { EditRefused, ImportRefused } from '../../client/inspector/edit.ts';
import { CallRefused, type ErrorWords } from '../../client/methods/method.ts';
import {
  AccessUnsupported,
  DomainUnsupported,
  refusesKey,
  RelayRefusal,
  RelayUnreachable,
} from '../../client/relay/errors.ts';
import { RelayAddressError } from '../../client/relay/relay-address.ts';
import { FolderUnreadable } from '../../client/share/shared-folder.ts';
import type { CallError } from '../ipc/ipc.ts';
import type { Problem } from '../ipc/snapshot.ts';
import { translateMessage } from '../messages/message-text.ts';
import { t } from '../messages/translate.ts';

/** A failure that main itself reports to the page. */
export class CallFailure extends Error {
  readonly error: CallError;

  constructor(error: CallError) {
    super(error.text);
    this.name = 'CallFailure';
    this.error = error;
  }
}

/**
 * Shown while a signed-in app's calls to the relay fail: its address has worked before, so it needs no checking.
 *
 * @returns `undefined` for a bug, which must not be reported as such a failure
 */
export function relayProblem(error: unknown): Problem | undefined {
  const failure = toCallError(error);
  if (failure === undefined) return undefined;
  const { code, text } = failure;
  if (code === 'certificate' || !(error instanceof RelayUnreachable)) return { code, text };
  return { code, text: t('problem.keepsTrying', { why: sentence(translateMessage(error.said)) }) };
}

/**
 * What the window says of errors.
 *
 * @param reportBug called with every error that is neither a known failure nor a bad payload
 */
export function errorWords(reportBug: ErrorWords['reportBug']): ErrorWords {
  return { describe: toCallError, wrong: t('problem.wrong'), reportBug };
}

/** @returns `undefined` for a bug, which must not be reported as such a failure */
export function toCallError(error: unknown): CallError | undefined {
  if (error instanceof CallFailure) return error.error;
  if (error instanceof RelayAddressError)
    return { code: 'relay-address', field: 'relay', text: sentence(translateMessage(error.said)) };
  if (error instanceof NameInUse)
    return {
      code: 'name-in-use',
      field: 'name',
      text: t('problem.nameInUse', { why: translateMessage(error.said) }),
    };
  if (error instanceof DomainUnsupported)
    return { code: 'relay-without-it', field: 'domain', text: sentence(translateMessage(error.said)) };
  if (error instanceof AccessUnsupported)
    return { code: 'relay-without-it', field: 'lock', text: sentence(translateMessage(error.said)) };
  if (error instanceof EditRefused) {
    const problems = error.problems.map(({ part, said }) => ({ part, text: translateMessage(said) }));
    return { code: 'edit-refused', text: problems.map(({ text }) => text).join('\n'), problems };
  }
  if (error instanceof ImportRefused) return { code: 'not-imported', text: translateMessage(error.said) };
  if (error instanceof CallRefused) return { code: error.code, text: translateMessage(error.said) };
  if (error instanceof OwnerLeft) return { code: 'signed-out', text: t('session.signedOutFirst') };
  if (error instanceof NotSaved)
    return { code: 'not-saved', text: t('problem.settingsNotWritten', { why: error.message }) };
  if (error instanceof FolderUnreadable) return { code: 'no-folder', text: translateMessage(error.said) };
  if (error instanceof RelayUnreachable) return unreachable(error);
  if (error instanceof RelayRefusal) return refusal(error);
  return undefined;
}

function unreachable(error: RelayUnreachable): CallError {
  const text = sentence(translateMessage(error.said));
  if (hasCertificateCause(error)) {
    return {
      code: 'certificate',
      field: 'relay',
      text: t('problem.askRelay', { why: text }),
    };
  }
  const isReached = error.cause === undefined;
  return isReached
    ? { code: 'no-relay', field: 'relay', text: t('problem.checkAddress', { why: text }) }
    : { code: 'unreachable', field: 'relay', text: t('problem.checkAddressAndNetwork', { why: text }) };
}

function hasCertificateCause(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== undefined && /CERT|SELF_SIGNED|^ERR_TLS|UNABLE_TO_VERIFY/.test(code)) return true;
  }
  return false;
}

function refusal(error: RelayRefusal): CallError {
  const { status, retryAfterMs } = error;
  const message = translateMessage(error.said);
  if (refusesKey(error)) {
    return {
      code: 'key-refused',
      field: 'key',
      text: t('problem.keyUnknown'),
    };
  }
  switch (status) {
    case 400:
      return badField(error);
    case 403:
      if (error.is(API_ERRORS.planTooLow))
        return { code: 'plan-too-low', field: 'name', text: t('problem.namesNeedPlan') };
      if (error.is(API_ERRORS.agentAccess))
        return { code: 'agent-access', field: 'lock', text: sentence(message) };
      if (error.is(API_ERRORS.agentName))
        return { code: 'agent-name', field: 'name', text: sentence(message) };
      return { code: 'not-allowed', text: sentence(message) };
    case 404:
      if (error.is(API_ERRORS.domainNotFound))
        return { code: 'domain-gone', field: 'domain', text: t('problem.domainGone') };
      if (error.is(API_ERRORS.invitationNotFound)) {
        return {
          code: 'invitation-ended',
          field: 'relay',
          text: t('problem.invitationGone'),
        };
      }
      return error.is(API_ERRORS.tunnelNotFound)
        ? { code: 'tunnel-gone', text: t('problem.tunnelGone') }
        : {
            code: 'no-relay',
            field: 'relay',
            text: t('problem.notRelay'),
          };
    case 409:
      if (error.code?.startsWith('domain-') === true)
        return { code: error.code, field: 'domain', text: sentence(message) };
      if (error.code === API_ERRORS.nameReserved.code)
        return {
          code: 'name-reserved',
          field: 'name',
          text: t('problem.nameReserved'),
        };
      if (error.code !== undefined && !error.is(API_ERRORS.nameTaken))
        return { code: error.code, text: sentence(message) };
      return {
        code: 'name-taken',
        field: 'name',
        text: t('problem.nameTaken'),
      };
    case 429:
      return {
        code: 'rate-limit',
        text: t('problem.rateLimit', { seconds: waitSeconds(retryAfterMs) }),
      };
    default:
      return status >= 500
        ? {
            code: 'relay-trouble',
            text: t('problem.relayTrouble', { message, seconds: waitSeconds(retryAfterMs) }),
          }
        : { code: 'refused', text: sentence(t('problem.refused', { message })) };
  }
}

function badField(error: RelayRefusal): CallError {
  const message = translateMessage(error.said);
  if (error.is(API_ERRORS.invalidName)) return { code: 'bad-name', field: 'name', text: sentence(message) };
  if (error.is(API_ERRORS.invalidPort)) return { code: 'bad-port', field: 'port', text: t('problem.port') };
  if (error.is(API_ERRORS.invalidDomain))
    return { code: 'bad-domain', field: 'domain', text: sentence(message) };
  if (error.is(API_ERRORS.invalidAccess)) return { code: 'bad-lock', field: 'lock', text: sentence(message) };
  if (isAboutTtl(error)) return { code: 'bad-ttl', field: 'ttl', text: sentence(message) };
  return { code: 'refused', text: sentence(t('problem.refused', { message })) };
}

/** The text of one of its two errors contains a limit, so it cannot be used to recognise a refusal without a code. */
function isAboutTtl(error: RelayRefusal): boolean {
  if (error.code === undefined) return error.message.includes('ttl');
  return error.is(API_ERRORS.invalidTtl) || error.is(API_ERRORS.ttlTooLong);
}

/** @returns s; 0 if the relay has not said how long to wait */
function waitSeconds(ms: number | undefined): number {
  return ms === undefined ? 0 : Math.max(1, Math.ceil(ms / 1000));
}

function sentence(text: string): string {
  const start = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(start) ? start : `${start}.`;
}
