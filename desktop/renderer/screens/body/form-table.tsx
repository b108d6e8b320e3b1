import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import type { Form, FormFile } from '../../model/body/form-parts.ts';
import { bytesText } from '../../model/numbers.ts';

/** A form as a table of its fields and files. */
export function FormTable({ label, form }: { label: string; form: Form }): JSX.Element {
  return (
    <div role="region" aria-label={label}>
      <table class="parameters">
        <caption>{t('body.form')}</caption>
        <tbody>
          {form.parts.map(({ name, value, file }, index) => (
            // A name can occur several times; its position distinguishes it from the others.
            <tr key={index}>
              <th scope="row" dir="ltr">
                {name}
              </th>
              <td class="mono">{file === undefined ? value : fileText(file)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {form.isCut && <p class="hint">{t('body.notShown')}</p>}
    </div>
  );
}

function fileText({ name, type, size, isCut }: FormFile): string {
  const bytes = bytesText(size);
  return [
    name === '' ? t('body.fileWithoutName') : name,
    ...(type === '' ? [] : [type]),
    isCut ? t('body.moreThan', { bytes }) : bytes,
  ].join(', ');
}
