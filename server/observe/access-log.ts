/** The access log (docs/observing.md): a line of JSON for each request, for operators who ask for one. */
import type { VisitorErrorCode } from '../../shared/errors.ts';
import type { Clock } from '../clock.ts';
import { type LineStream, withoutKeys } from './logger.ts';
import type { Outcomes } from './counters.ts';

/** One request that has ended. There is nothing in it that lets anybody in: no query, no field but `Host`, no body. */
export interface AccessEntry {
  /** of the visitor, as far as trusted proxies are believed */
  readonly address: string;
  /** `undefined`, like `host` and `path`, where the head could not be read */
  readonly method?: string | undefined;
  /** as sent, latin1 */
  readonly host?: string | undefined;
  /** as sent, latin1, without its query */
  readonly path?: string | undefined;
  /** `undefined` where no answer was begun */
  readonly status?: number | undefined;
  readonly outcome: keyof Outcomes;
  /** what the relay answered itself */
  readonly error?: VisitorErrorCode | undefined;
  /** of the request, its head included */
  readonly bytes_in: number;
  /** of the answer, its head included */
  readonly bytes_out: number;
  /** from the end of the request's head to the end of the answer */
  readonly ms: number;
  /** id, `undefined` where the request went to none */
  readonly tunnel?: string | undefined;
  readonly slug?: string | undefined;
  /** id of the tunnel's account */
  readonly account?: string | undefined;
}

export type AccessLog = (entry: AccessEntry) => void;

/** What JSON leaves as it is and a terminal may obey, and what is one byte of a target that nobody has said how to read. */
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
