/** Recorded bytes as messages, read when somebody looks at them. */
import { BodyError } from '../../../shared/http1/body.ts';
import { trackBody } from '../../../shared/http1/track-body.ts';
import type { Exchange, Visibility } from './exchange.ts';
import { HeadScan } from './head-scan.ts';
import type { RecordedMessage, RequestDetail } from './records.ts';
import { redactField, redactTarget } from './redaction.ts';
import { trimBlanks } from './trim-blanks.ts';

export function requestDetail(exchange: Exchange, visibility: Visibility): RequestDetail | undefined {
  const { captures } = exchange;
  if (captures === undefined) return undefined;
  const request = readMessage(captures.request.bytes, exchange.bytesIn, visibility);
  if (request === undefined) return undefined;
  const response = readMessage(captures.response.bytes, exchange.bytesOut, visibility);
  const isMessage = exchange.status !== undefined;
  const { timing } = exchange;
  return { ...exchange.summary(visibility), timing, request, response: isMessage ? response : undefined };
}

/**
 * Reads one message.
 *
 * @param bytes what was kept of it
 * @param total bytes that it had
 * @returns `undefined` without a complete head
 */
export function readMessage(
  bytes: Buffer,
  total: number,
  { reveal }: Visibility,
): RecordedMessage | undefined {
  const scan = new HeadScan();
  if (!scan.scan(bytes)) return undefined;
  const [startLine = '', ...lines] = bytes
    .toString('latin1', 0, scan.end)
    .replace(/\r?\n\r?\n$/, '')
    .split(/\r?\n/);
  const fields = lines.map(readField);
  const { body, isWhole } = readBody(scan.isChunked, bytes.subarray(scan.end));
  return {
    startLine: reveal ? startLine : redactTarget(startLine),
    fields: reveal ? fields : fields.map(([name, value]) => [name, redactField(name, value)]),
    body,
    isTruncated: !isWhole || total > bytes.length,
  };
}

/** Takes a line as it is: whatever passed is shown, even what shared/http1 would refuse. */
function readField(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  if (colon === -1) return [trimBlanks(line), ''];
  return [trimBlanks(line.slice(0, colon)), trimBlanks(line.slice(colon + 1))];
}

/** The body as a copy, without chunked coding. */
function readBody(isChunked: boolean, bytes: Buffer): { body: Uint8Array; isWhole: boolean } {
  if (!isChunked) return { body: Uint8Array.from(bytes), isWhole: true };
  const pieces: Buffer[] = [];
  const tracker = trackBody({ kind: 'chunked' }, (piece) => pieces.push(piece));
  try {
    tracker.advance(bytes, 0);
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
  }
  return { body: Uint8Array.from(Buffer.concat(pieces)), isWhole: tracker.done };
}
