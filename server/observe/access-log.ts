/** The access log (docs/observing.md): a line of JSON for each request, for operators who ask for it. */
import type { VisitorErrorCode } from '../../shared/errors.ts';
import type { Clock } from '../clock.ts';
import { type LineStream, withoutKeys } from './logger.ts';
import type { Outcomes } from './counters.ts';

/** One request that has ended. Nothing in it lets anybody in: no query, no field but `Host`, no body. */
export interface AccessEntry {
  /** of the visitor, as far as trusted proxies name it */
  readonly address: string;
  /** `undefined`, like `host` and `path`, if the head could not be read */
  readonly method?: string | undefined;
  /** as sent, latin1 */
  readonly host?: string | undefined;
  /** as sent, latin1, without its query */
  readonly path?: string | undefined;
  /** `undefined` if no response was begun */
  readonly status?: number | undefined;
  readonly outcome: keyof Outcomes;
  /** the `Culvert-Error` code, if the relay itself responded */
  readonly error?: VisitorErrorCode | undefined;
  /** of the request, its head included */
  readonly bytes_in: number;
  /** of the response, its head included */
  readonly bytes_out: number;
  /** from the end of the request's head to the end of the response */
  readonly ms: number;
  /** id, `undefined` if the request went to none */
  readonly tunnel?: string | undefined;
  readonly slug?: string | undefined;
  /** id of the tunnel's account */
  readonly account?: string | undefined;
}

export type AccessLog = (entry: AccessEntry) => void;

/**
 * Characters that JSON leaves as they are and a terminal may obey, and bytes of a target whose encoding nobody has declared.
 */
const UNSAFE = /[\u007f-\uffff]/g;

export function createAccessLog(stream: LineStream, clock: Clock): AccessLog {
  return (entry) => {
    const line = JSON.stringify({ time: new Date(clock.now()).toISOString(), ...entry });
    stream.write(`${withoutKeys(line).replaceAll(UNSAFE, escape)}\n`);
  };
}

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
