import type { JSX } from 'preact';
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import type { MessageView } from '../../../shared/ipc.ts';
import { utf8Text } from '../../../shared/readable-target.ts';
import { Body } from '../body/body.tsx';
import { Fields } from './fields.tsx';
import { Parameters } from './parameters.tsx';

/** A request or a response: its start line, its fields, its body. */
export function Message({ title, message }: { title: string; message: MessageView }): JSX.Element {
  return (
    <section class="message" aria-label={title}>
      <h2>{title}</h2>
      <p class="start-line mono">{escapeUnprintable(utf8Text(message.startLine))}</p>
      <Parameters startLine={message.startLine} />
      <Fields of={title} fields={message.fields} />
      <Body of={title} message={message} />
    </section>
  );
}
