/** Checks who has knocked at a tunnel, as a relay lists it (docs/protocol.md section 11.3). */
import * as yup from 'yup';
import { check, text } from './response-fields.ts';

/** Somebody who has knocked. */
export interface KnockEntry {
  readonly id: string;
  readonly status: 'waiting' | 'admitted' | 'refused';
  /** IP address */
  readonly address: string;
  /** what the visitor's `User-Agent` says, which is as the visitor likes: not to be shown as it is; `''` without one */
  readonly agent: string;
  /** until when the visitor waits, is in, or may not knock again; RFC 3339, UTC */
  readonly ends_at: string;
}

const knock = yup
  .object({
    id: yup
      .string()
      .matches(/^[0-9a-f]{16}$/)
      .required(),
    status: yup
      .string()
      .oneOf(['waiting', 'admitted', 'refused'] as const)
      .required(),
    address: text,
    agent: yup.string().defined(),
    ends_at: text,
  })
  .required();
const listSchema = yup.object({ knocks: yup.array(knock).required() }).strict();

/** @throws RelayUnreachable when the value is not a list of knocks */
export function readKnockList(value: unknown): KnockEntry[] {
  return (check(listSchema, value) as { knocks: KnockEntry[] }).knocks;
}
