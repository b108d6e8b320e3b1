import { MessageError, type MessageValue } from '../messages.ts';
import type { RequestEdit } from './edit.ts';

/** A request from elsewhere, in the form in which it is added to the request log. */
export interface ImportedRequest extends RequestEdit {
  readonly body: Uint8Array;
  /** the body was longer than this */
  readonly isCut: boolean;
  /** the response it got, if known */
  readonly response: ImportedResponse | undefined;
}

export interface ImportedResponse {
  readonly status: number;
  readonly reason: string;
  /** without fields about the message's framing */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** as shown: without content coding */
  readonly body: Uint8Array;
  readonly isCut: boolean;
  /** ms until the response was complete */
  readonly durationMs: number;
}

/** Thrown for a malformed text. The message for people describes where, and what is accepted. */
export class ImportRefused extends MessageError {
  constructor(said: MessageValue) {
    super(said);
    this.name = 'ImportRefused';
  }
}

/** Path and query of an address in visible ASCII, without its fragment and otherwise unchanged. */
export function targetOf(url: string): string {
  const [, rest = ''] = /^(?:[a-z][a-z\d+.-]*:)?(?:\/\/)?[^/?#]*([^#]*)/i.exec(url) ?? [];
  const target = rest.replace(/[^!-~]+/g, (text) => encode(text));
  return target.startsWith('/') ? target : `/${target}`;
}

function encode(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}
