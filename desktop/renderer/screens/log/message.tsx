import type { JSX } from 'preact';
import { t } from '../../../i18n/translate.ts';
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import type { MessageView } from '../../../shared/ipc.ts';
import { utf8Text } from '../../../shared/readable-target.ts';
import type { MessageKind } from '../../model/request-detail.ts';
import { Body } from '../body/body.tsx';
import { Fields } from './fields.tsx';
import { Parameters } from './parameters.tsx';

/** A request or a response: its start line, its fields, its body. */
export function Message({ of, message }: { of: MessageKind; message: MessageView }): JSX.Element {
  const title = t(`request.${of}`);
  return (
    <section class="message" aria-label={title}>
      <h2>{title}</h2>
      <p class="start-line mono" dir="ltr">
        {escapeUnprintable(utf8Text(message.startLine))}
      </p>
      <Parameters startLine={message.startLine} />
      <Fields of={of} fields={message.fields} />
      <Body of={of} message={message} />
    </section>
  );
}
