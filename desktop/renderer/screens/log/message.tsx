import type { JSX } from 'preact';
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import type { RecordedMessage } from '../../../engine/inspector/records.ts';
import { Body } from './body.tsx';

/** A request or a response: its start line, its fields, its body. */
export function Message({ title, message }: { title: string; message: RecordedMessage }): JSX.Element {
  return (
    <section class="message" aria-label={title}>
      <h2>{title}</h2>
      <p class="start-line mono">{escapeUnprintable(message.startLine)}</p>
      <dl class="fields">
        {message.fields.map(([name, value], index) => (
          // A field can occur there several times; its position distinguishes it from the others.
          <div key={index}>
            <dt>{escapeUnprintable(name)}</dt>
            <dd class="mono">{escapeUnprintable(value)}</dd>
          </div>
        ))}
      </dl>
      <Body of={title} message={message} />
    </section>
  );
}
