/** The messages of a WebSocket, as the window lists them. */
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import { closeText, matchingMessages } from '../../../client/inspector/readable.ts';
import type { RecordedMessage, SocketMessage, SocketMessages } from '../../../client/inspector/records.ts';
import { t } from '../../messages/translate.ts';
import { bytesText, preciseClockText } from './numbers.ts';

/** Whose messages are listed. */
export type Sender = 'both' | 'visitor' | 'service';

/** Number of the last message that need not be read again. */
export function knownUpTo(known: SocketMessages | undefined): number {
  if (known === undefined) return 0;
  const waiting = known.messages.find(({ form }) => form === 'waiting');
  return waiting === undefined ? known.count : waiting.id - 1;
}

/** Adds what was read after {@link knownUpTo}. Messages that stay the same stay the same objects. */
export function joinedMessages(known: SocketMessages | undefined, read: SocketMessages): SocketMessages {
  const upTo = knownUpTo(known);
  const kept = known?.messages.filter(({ id }) => id <= upTo && id >= read.oldest) ?? [];
  const isSame = read.messages.length === 0 && kept.length === known?.messages.length;
  return { ...read, messages: isSame ? known.messages : [...kept, ...read.messages] };
}

/** The messages that are listed, newest first like requests. */
export function listedMessages(
  messages: readonly SocketMessage[],
  sender: Sender,
  typed: string,
): readonly SocketMessage[] {
  const of = messages.filter(
    ({ isFromVisitor }) => sender === 'both' || isFromVisitor === (sender === 'visitor'),
  );
  return matchingMessages(of, typed).toReversed();
}

const PREVIEW_BYTES = 200;
const HEX_BYTES = 24;
const strict = new TextDecoder('utf-8', { fatal: true });
const lenient = new TextDecoder();

/** Its beginning on one line: text, or the hexadecimal digits of other content. */
export function previewText({ kind, form, body, isCut }: SocketMessage): string {
  if (form === 'waiting') return t('socket.waiting');
  if (form === 'unreadable') return t('socket.unreadable');
  if (kind === 'close') return escapeUnprintable(closeText(body));
  const start = body.subarray(0, PREVIEW_BYTES);
  // A character may be cut in the middle.
  const isText = body.length > PREVIEW_BYTES || isCut ? !start.includes(0) && kind === 'text' : isUtf8(body);
  if (isText) return escapeUnprintable(lenient.decode(start));
  const hex = Array.from(body.subarray(0, HEX_BYTES), (byte) => byte.toString(16).padStart(2, '0'));
  return `${hex.join(' ')}${body.length > HEX_BYTES ? ' …' : ''}`;
}

function isUtf8(body: Uint8Array): boolean {
  if (body.includes(0)) return false;
  try {
    strict.decode(body);
    return true;
  } catch {
    return false;
  }
}

/** When it came. */
export function messageTime(startedAt: number, { atMs }: SocketMessage): string {
  return preciseClockText(startedAt + atMs);
}

/** What it is, for screen readers and above its content. */
export function messageWords(startedAt: number, message: SocketMessage): string {
  return t('socket.message', {
    id: message.id,
    sender: t(message.isFromVisitor ? 'socket.fromVisitor' : 'socket.fromService'),
    kind: t(`socket.kind.${message.kind}`),
    time: messageTime(startedAt, message),
    size: sizeText(message),
  });
}

/** Size on its row: of its content, as far as that is known. */
export function rowSize({ form, size, body, isCut }: SocketMessage): string {
  return bytesText(form === 'compressed' && !isCut ? body.length : size);
}

function sizeText(message: SocketMessage): string {
  const { form, size, isCut } = message;
  if (form !== 'compressed' || isCut) return bytesText(size);
  return `${rowSize(message)} (${t('socket.compressed', { size: bytesText(size) })})`;
}

/** Its content as an HTTP message: both have the same views. */
export function messageBody({ body, isCut }: SocketMessage): RecordedMessage {
  return { startLine: '', fields: [], body, isTruncated: isCut };
}
