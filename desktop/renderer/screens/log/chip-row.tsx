import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import type { RequestSummary } from '../../../engine/inspector/records.ts';
import { ALL, chips } from '../../model/log-filter.ts';
import { countText } from '../../model/numbers.ts';

/** The parts of a log, with counts; one is shown. */
export function ChipRow({
  requests,
  chosen,
  choose,
}: {
  requests: readonly RequestSummary[];
  chosen: string;
  choose: (part: string) => void;
}): JSX.Element {
  const parts = useMemo(() => chips(requests, chosen), [requests, chosen]);
  return (
    <div class="filter-chips" role="group" aria-label={t('log.show')}>
      {parts.map(({ id, label, count }) => (
        <button
          key={id}
          type="button"
          class="filter-chip"
          aria-pressed={id === chosen}
          onClick={() => choose(id === chosen ? ALL : id)}
        >
          <bdi>{label}</bdi> <span class="dim">{countText(count)}</span>
        </button>
      ))}
    </div>
  );
}
