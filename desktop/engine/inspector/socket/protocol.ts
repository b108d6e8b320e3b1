/**
 * What `culvert inspect` and a running `culvert` say to each other: on each connection one request as a line of JSON, and
 * one line as the answer, or one for each event of a watch.
 */
import { boolean, number, object, string } from 'yup';
import type { RecordedMessage, RequestDetail } from '../records.ts';

export type InspectRequest =
  | { readonly op: 'tunnels' }
  | { readonly op: 'list'; readonly tunnel: string; readonly reveal: boolean }
  | { readonly op: 'show'; readonly tunnel: string; readonly id: number; readonly reveal: boolean }
  | { readonly op: 'replay'; readonly tunnel: string; readonly id: number }
  | { readonly op: 'watch'; readonly tunnel: string; readonly reveal: boolean };

/** A tunnel that the process serves. */
export interface TunnelEntry {
  readonly id: string;
  readonly slug: string;
  readonly publicUrl: string;
}

export type InspectAnswer =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly code: string; readonly message: string };

const tunnel = string().strict().required();
const id = number().strict().integer().min(1).required();
const reveal = boolean().strict().required();
const SCHEMAS = {
  tunnels: object({}),
  list: object({ tunnel, reveal }),
  show: object({ tunnel, id, reveal }),
  replay: object({ tunnel, id }),
  watch: object({ tunnel, reveal }),
} as const;

/** @returns `undefined` for anything that is not a request */
export function parseRequest(line: string): InspectRequest | undefined {
  const value = parseJson(line);
  if (typeof value !== 'object' || value === null || !('op' in value)) return undefined;
  const { op } = value;
  if (typeof op !== 'string' || !Object.hasOwn(SCHEMAS, op)) return undefined;
  const isValid = SCHEMAS[op as InspectRequest['op']].isValidSync(value, { strict: true });
  return isValid ? (value as InspectRequest) : undefined;
}

/** One line; the bytes of bodies are base64. */
export function formatAnswer(answer: InspectAnswer): string {
  return `${JSON.stringify(answer, (_key, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
  )}\n`;
}

/** @returns `undefined` for anything that is not an answer */
export function parseAnswer(line: string): InspectAnswer | undefined {
  const value = parseJson(line);
  return typeof value === 'object' && value !== null && 'ok' in value ? (value as InspectAnswer) : undefined;
}

/** Turns bodies back into bytes. */
export function reviveDetail(value: unknown): RequestDetail {
  const detail = value as RequestDetail;
  const { request, response } = detail;
  return { ...detail, request: revive(request), response: response && revive(response) };
}

function revive(message: RecordedMessage): RecordedMessage {
  return { ...message, body: Uint8Array.from(Buffer.from(String(message.body), 'base64')) };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}
