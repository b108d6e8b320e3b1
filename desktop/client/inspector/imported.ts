import { MessageError, type MessageValue } from '../messages.ts';
import type { RequestEdit } from './edit.ts';

/** A request that was written down elsewhere, as it goes into the request log. */
export interface ImportedRequest extends RequestEdit {
  readonly body: Uint8Array;
  /** there was more body than this */
  readonly isCut: boolean;
  /** what came back then, if that is known */
  readonly response: ImportedResponse | undefined;
}

export interface ImportedResponse {
  readonly status: number;
  readonly reason: string;
  /** without those that say where the message ends */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** as it was shown: without content coding */
  readonly body: Uint8Array;
  readonly isCut: boolean;
  /** ms until it had come */
  readonly durationMs: number;
}

/** Thrown for a text that is not what it should be; the message says where and what is taken, for people. */
export class ImportRefused extends MessageError {
  constructor(said: MessageValue) {
    super(said);
    this.name = 'ImportRefused';
  }
}

/** Path and query of an address, without its fragment, in visible ASCII; nothing else of it is changed. */
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
