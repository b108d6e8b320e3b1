import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { RequestDetail } from '../../../engine/inspector/records.ts';
import { latencyText } from '../../model/numbers.ts';
import { barOf, phases } from '../../model/waterfall.ts';

/** What a request has spent its time on, in words and as bars, one after the other. */
export function Waterfall({ detail }: { detail: RequestDetail }): JSX.Element {
  const all = phases(detail);
  return (
    <table class="waterfall">
      <caption>{t('request.time')}</caption>
      <tbody>
        {all.map((phase) => {
          const { start, width } = barOf(phase, all);
          return (
            <tr key={phase.name}>
              <th scope="row">{phase.name}</th>
              <td class="waterfall-took">
                {phase.ms !== undefined
                  ? latencyText(phase.ms)
                  : detail.isBroken
                    ? t('request.timeBrokeOff')
                    : t('request.soFar')}
              </td>
              <td class="waterfall-track" aria-hidden="true">
                <span
                  class="waterfall-bar"
                  style={{ insetInlineStart: `${start * 100}%`, width: `${width * 100}%` }}
                />
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
