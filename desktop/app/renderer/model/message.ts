/** The parts of a recorded message that its tabs show. */
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import { textIn, utf8Text } from '../../../client/inspector/readable.ts';
import type { Pairs, RecordedMessage } from '../../../client/inspector/records.ts';
import { hexDump } from './body/body-view.ts';

/**
 * Parses the parameters in a request line as `application/x-www-form-urlencoded` (WHATWG URL, section 5.1), which
 * leaves what it cannot decode as it is. A line without a query, such as that of a response, has none.
 */
export function queryOf({ startLine }: Pick<RecordedMessage, 'startLine'>): Pairs {
  const target = utf8Text(startLine.split(' ')[1] ?? '');
  const at = target.indexOf('?');
  return at < 0 ? [] : escaped([...new URLSearchParams(target.slice(at + 1))]);
}

/** Headers or cookies, as UTF-8 if they are that. */
export function readablePairs(pairs: Pairs): Pairs {
  return escaped(pairs.map(([name, value]) => [utf8Text(name), utf8Text(value)]));
}

/** With characters made visible that hide or reverse text. */
function escaped(pairs: Pairs): Pairs {
  return pairs.map(([name, value]) => [escapeUnprintable(name), escapeUnprintable(value)]);
}

/** The message as it passed, as one text: its head, and its body, as a hex dump if it is not text. */
export function rawMessage(message: RecordedMessage): RecordedMessage {
  const { startLine, fields, body, wholeBytes } = message;
  const isTruncated = message.isTruncated || wholeBytes !== undefined;
  const lines = [startLine, ...fields.map(([name, value]) => `${name}: ${value}`), '', ''];
  const head = new TextEncoder().encode(lines.map(utf8Text).join('\r\n'));
  const rest = textIn(body, isTruncated) === undefined ? new TextEncoder().encode(hexDump(body)) : body;
  const all = new Uint8Array(head.length + rest.length);
  all.set(head);
  all.set(rest, head.length);
  return { startLine: '', fields: [], body: all, isTruncated };
}
