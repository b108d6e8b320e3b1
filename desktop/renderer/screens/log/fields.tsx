import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import { utf8Text } from '../../../shared/readable-target.ts';
import type { MessageKind } from '../../model/request-detail.ts';
import { CopyButton } from '../../view/copy-button.tsx';

/** The fields of a message as a table, each with a button that copies its value. */
export function Fields({
  of,
  fields,
}: {
  of: MessageKind;
  fields: readonly (readonly [name: string, value: string])[];
}): JSX.Element | null {
  if (fields.length === 0) return null;
  const lines = (): string => fields.map(([name, value]) => `${name}: ${utf8Text(value)}\n`).join('');
  return (
    <table class="fields">
      <caption>
        {t('bench.headers')}{' '}
        <CopyButton
          what={{ kind: of === 'request' ? 'requestHeaders' : 'responseHeaders', name: '' }}
          text={lines}
        />
      </caption>
      <tbody>
        {fields.map(([name, value], index) => (
          // A field can occur there several times; its position distinguishes it from the others.
          <tr key={index}>
            <th scope="row" dir="ltr">
              {escapeUnprintable(name)}
            </th>
            <td class="mono" dir="ltr">
              {escapeUnprintable(utf8Text(value))}
            </td>
            <td class="fields-copy">
              {value !== '' && <CopyButton what={{ kind: 'header', name }} text={() => utf8Text(value)} />}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
