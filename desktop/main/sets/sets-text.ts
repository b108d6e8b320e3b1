/** Sets of requests as the text that is encrypted and stored. */
import * as yup from 'yup';
import type { KeptRequest } from './kept-request.ts';

export interface RequestSet {
  readonly id: string;
  readonly name: string;
  /** in the order in which they are sent */
  readonly requests: readonly KeptRequest[];
}

const requestSchema = yup
  .object({
    id: yup.string().required(),
    method: yup.string().required(),
    target: yup.string().required(),
    fields: yup.array(yup.tuple([yup.string().defined(), yup.string().defined()]).required()).required(),
    body: yup.string().defined(),
  })
  .required();
const setsSchema = yup
  .array(
    yup
      .object({
        id: yup.string().required(),
        name: yup.string().required(),
        requests: yup.array(requestSchema).required(),
      })
      .required(),
  )
  .required();

/** @throws for a text that {@link setsText} has not written */
export function readSets(text: string): readonly RequestSet[] {
  return setsSchema.validateSync(JSON.parse(text), { strict: true });
}

export function setsText(sets: readonly RequestSet[]): string {
  return JSON.stringify(sets);
}
