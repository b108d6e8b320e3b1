import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import { addressParameters } from '../../model/address-parameters.ts';
import { countText } from '../../model/numbers.ts';

/** The parameters of an address as a table; nothing if it has none. */
export function Parameters({ startLine }: { startLine: string }): JSX.Element | null {
  const { shown, more } = useMemo(() => addressParameters(startLine), [startLine]);
  if (shown.length === 0) return null;
  return (
    <>
      <table class="parameters">
        <caption>{t('log.parameters')}</caption>
        <tbody>
          {shown.map(([name, value], index) => (
            // A name can occur several times; its position distinguishes it from the others.
            <tr key={index}>
              <th scope="row" dir="ltr">
                {name}
              </th>
              <td class="mono" dir="ltr">
                {value}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && <p class="hint">{t('log.andMore', { count: countText(more) })}</p>}
    </>
  );
}
