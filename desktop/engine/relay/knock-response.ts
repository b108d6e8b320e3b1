/** Checks who has knocked at a tunnel, as a relay lists it (docs/protocol.md section 11.3). */
import * as yup from 'yup';
import type { Knock } from '../../../shared/knocks.ts';
import { check, text } from './response-fields.ts';

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
    // As the visitor likes: what is done with it must not depend on what it says.
    agent: yup.string().defined(),
    at: text,
    ends_at: text,
  })
  .required();
const listSchema = yup.object({ knocks: yup.array(knock).required() }).strict();

/** @throws RelayUnreachable when the value is not a list of knocks */
export function readKnockList(value: unknown): Knock[] {
  return (check(listSchema, value) as { knocks: Knock[] }).knocks;
}
