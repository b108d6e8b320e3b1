import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { escapeUnprintable } from '../../../../../shared/unprintable.ts';
import {
  type RequestSummary,
  type SignatureView,
  WEBHOOK_PROVIDERS,
} from '../../../../client/inspector/records.ts';
import { t } from '../../../messages/translate.ts';
import { clockText } from '../../model/numbers.ts';
import { agoText, durationFraction, outcome, statusText, targetText, timeText } from '../../model/request.ts';
import { signatureMark, signatureTone } from '../../model/signature.ts';
import { useTime } from '../../view/clock.ts';
import { useShell } from '../../view/context.ts';

/** The position of a row in a long list. */
interface Spot {
  /** index, from 0 */
  spot: number;
  /** px from the start of the list */
  top: number;
  /** number of rows in the list */
  count: number;
  /** whether Tab reaches it */
  isTabStop: boolean;
  /** whether the request is open beside the list */
  isOpen: boolean;
}

/** Id of a request's element in its log. */
export function rowId(tunnelKey: string, id: number): string {
  return `request-${tunnelKey}-${id}`;
}

/** The number of the request whose row has that id; `undefined` for any other id. */
export function requestOfRow(tunnelKey: string, elementId: string | undefined): number | undefined {
  const prefix = rowId(tunnelKey, 0).slice(0, -1);
  const id = elementId?.startsWith(prefix) === true ? Number(elementId.slice(prefix.length)) : 0;
  return Number.isInteger(id) && id > 0 ? id : undefined;
}

interface Row {
  tunnelKey: string;
  request: RequestSummary;
}

/** One request on one line; a click opens it. The log shows more details than a card. */
export const RequestRow = memo(function RequestRow({
  tunnelKey,
  request,
  ...spot
}: Row & (Spot | Partial<Record<keyof Spot, undefined>>)): JSX.Element {
  const isInLog = spot.count !== undefined;
  const place = isInLog
    ? { 'aria-setsize': spot.count, 'aria-posinset': spot.spot + 1, style: { top: `${spot.top}px` } }
    : {};
  return (
    <li data-request={request.id} {...place}>
      <RowButton
        tunnelKey={tunnelKey}
        request={request}
        isInLog={isInLog}
        isTabStop={!isInLog || spot.isTabStop}
        isOpen={spot.isOpen === true}
      />
    </li>
  );
});

/** The part that does not change when newer requests move a row down. */
const RowButton = memo(function RowButton({
  tunnelKey,
  request,
  isInLog,
  isTabStop,
  isOpen,
}: Row & Pick<Spot, 'isTabStop' | 'isOpen'> & { isInLog: boolean }): JSX.Element {
  const { go } = useShell();
  const target = targetText(request);
  const { id, replayOf, isImported, webhook } = request;
  const kinds = [`row-${outcome(request)}`];
  if (isInLog) kinds.push('row-timed');
  if (isInLog && replayOf !== undefined) kinds.push('row-repeats');
  return (
    <button
      type="button"
      id={isInLog ? rowId(tunnelKey, id) : `recent-${tunnelKey}-${id}`}
      class={`row ${kinds.join(' ')}`}
      tabIndex={isTabStop ? 0 : -1}
      aria-current={isOpen ? 'true' : undefined}
      onClick={() => go({ screen: 'request', key: tunnelKey, id })}
    >
      <span class="method" dir="ltr">
        {escapeUnprintable(request.method)}
      </span>
      <span class="target" dir="ltr" title={target}>
        {replayOf !== undefined && (
          <span class="replay-mark" title={t('log.repeats', { replayOf })}>
            <span aria-hidden="true">↻ </span>
            <span class="unseen">{t('log.repeated')}</span>
          </span>
        )}
        {isImported && (
          <span class="replay-mark" title={t('log.importedHint')}>
            <span aria-hidden="true">⇣ </span>
            <span class="unseen">{t('log.imported')}</span>
          </span>
        )}
        {isInLog && webhook !== undefined && (
          <>
            <span class="webhook-mark" translate={false}>
              {WEBHOOK_PROVIDERS[webhook]}
            </span>{' '}
          </>
        )}
        <SignatureMark signature={request.signature} />
        {target}
      </span>
      <span class="status">{statusText(request)}</span>
      <span class="took">
        {timeText(request)}
        {isInLog && request.durationMs !== undefined && <DurationBar ms={request.durationMs} />}
      </span>
      {isInLog && <Ago startedAt={request.startedAt} />}
    </button>
  );
});

/** Decorative, because the words beside it contain the same. */
function DurationBar({ ms }: { ms: number }): JSX.Element {
  return <span class="duration" aria-hidden="true" style={{ '--fraction': durationFraction(ms) }} />;
}

function Ago({ startedAt }: { startedAt: number }): JSX.Element {
  const words = useTime((now) => agoText(startedAt, now));
  if (words === t('log.now')) {
    return (
      <span class="ago" title={clockText(startedAt)}>
        {words}
      </span>
    );
  }
  return (
    <span class="ago" title={clockText(startedAt)}>
      <span aria-hidden="true">{words}</span>
      <span class="unseen">{t('log.ago', { words })}</span>
    </span>
  );
}

/** The signature verdict on a log line; nothing if none was checked. */
export function SignatureMark({ signature }: { signature: SignatureView | undefined }): JSX.Element | null {
  const mark = signature && signatureMark(signature);
  if (signature === undefined || mark === undefined) return null;
  return <span class={`signature-mark verdict-${signatureTone(signature)}`}>{mark} </span>;
}
