/** A JSON object that the API returns: each of its fields is defined once, with its value and its schema. */
import { type JsonObject, object } from '../json-schema.ts';

/** One field: its schema, and how its value is taken from what is shown. */
export interface Field<Source, Value> {
  readonly schema: JsonObject;
  readonly of: (source: Source) => Value;
}

/** A row for each field of `Shown`, in the order in which they are written. */
export type Fields<Source, Shown> = { readonly [Name in keyof Shown]-?: Field<Source, Shown[Name]> };

export interface Resource<Source, Shown> {
  readonly schema: JsonObject;
  view(source: Source): Shown;
}

export function resource<Source, Shown extends object>(
  fields: Fields<Source, Shown>,
): Resource<Source, Shown> {
  const rows = Object.entries<Field<Source, unknown>>(fields);
  return {
    schema: object(Object.fromEntries(rows.map(([name, { schema }]) => [name, schema]))),
    view(source) {
      const shown: Record<string, unknown> = {};
      for (const [name, { of }] of rows) shown[name] = of(source);
      return shown as Shown;
    },
  };
}
