import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import type { RequestSummary } from '../../../engine/inspector/records.ts';
import { outcome, statusText, timeText } from '../../model/request.ts';
import { useShell } from '../../view/context.ts';

/** One request on one line; a click opens it in full. */
export const RequestRow = memo(function RequestRow({
  tunnelKey,
  request,
}: {
  tunnelKey: string;
  request: RequestSummary;
}): JSX.Element {
  const { go } = useShell();
  return (
    <li>
      <button
        type="button"
        id={`request-${tunnelKey}-${request.id}`}
        class={`row row-${outcome(request)}`}
        onClick={() => go({ screen: 'request', key: tunnelKey, id: request.id })}
      >
        <span class="method">{escapeUnprintable(request.method)}</span>
        <span class="target">{escapeUnprintable(request.target)}</span>
        <span class="status">{statusText(request)}</span>
        <span class="took">{timeText(request)}</span>
      </button>
    </li>
  );
});
