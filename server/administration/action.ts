/** Admin actions as rows: the command with its help, the call of the API and its description follow from each. */
import { type Field, type JsonObject, listOf, object, withDefault } from '../../shared/fields.ts';
import type { API_ERRORS } from '../../shared/errors.ts';
import { table } from '../../shared/help-text.ts';
import type { Administration } from './administration.ts';
import type { Given } from './given.ts';

/** An option of one command. */
interface CommandOption {
  /** the placeholder for its value; without one it is a switch */
  readonly value?: string;
  readonly text: string;
}

/** How a command is called: the help, the flags and docs/reference/culvert-relay.md follow from it. */
export interface CommandUsage {
  /** such as `account create` */
  readonly words: string;
  /** what follows the words, one entry for each form; an operand is in upper case at the beginning */
  readonly forms: readonly string[];
  /** in the imperative, without a full stop */
  readonly summary: string;
  /** by name, without dashes */
  readonly options: Readonly<Record<string, CommandOption>>;
  /** command lines that work as typed, each with its effect */
  readonly examples: Readonly<Record<string, string>>;
  /** paragraphs with an empty line between them */
  readonly details?: string;
}

export type Method = 'get' | 'post' | 'put' | 'delete';

/** A call below `/v1/admin`, its name, and the schema of its response. */
type ActionRoute = readonly [
  call: `${Method} /${string}`,
  id: string,
  shows: JsonObject,
  more?: {
    /** if it is not the command's */
    readonly summary?: string;
    readonly query?: Readonly<Record<string, string>>;
    /** schema of the body */
    readonly takes?: JsonObject;
    /** those that the method does not imply */
    readonly errors?: readonly (keyof typeof API_ERRORS)[];
  },
];

/** What was done. */
export interface Outcome {
  /** the body of the response */
  readonly json: object;
  /** what the command prints with `--json`, if it is not the same */
  readonly printed?: object;
  /** what it prints otherwise; gets the name of the database */
  readonly text: string | ((database: string) => readonly string[]);
  /** withdraws what cannot be shown again, because it could not be printed */
  readonly undo?: (() => Promise<unknown>) | undefined;
  /** a line for people, before the text */
  readonly notice?: string | undefined;
  /** lines for people, after the text or the JSON */
  readonly warnings?: readonly string[];
}

interface Acting {
  readonly admin: Administration;
  /** what the action is about: the name of an account, or what the operator gave to name another thing */
  readonly subject: string;
  /** the relay's own address. Throws if it is not known. */
  readonly origin: () => Promise<string>;
}

/** Throws NotThereError, ConflictError and StoreError. */
type Act = (acting: Acting) => Promise<Outcome>;

/** Without examples, only the API does this; without a route, only the command. */
export type AdminAction = Pick<CommandUsage, 'summary'> &
  Partial<Pick<CommandUsage, 'forms' | 'options' | 'examples' | 'details'>> & {
    readonly route?: ActionRoute;
    /**
     * what the action is about: an account, named by the command's option `--name` or `--account`, or the thing of
     * which the command has the id as its operand. The path of the route has the id of either.
     */
    readonly about?: 'name' | 'account' | 'key' | 'tunnel' | 'invite';
    /** what the command's JSON says has become of it */
    readonly status?: string;
  } & (
    | { readonly act: Act }
    /** reads everything that was given first */
    | { readonly read: (given: Given) => Act }
  );

/** Rows by the words of their commands. */
export type AdminActions = Readonly<Record<string, AdminAction>>;

/** The schema of a list. */
export function listed(title: string, name: string, item: Field<object>): JsonObject {
  return object({ [name]: listOf(item, 'oldest first') }, title).schema;
}

/** The schema of an optional field of a request. */
export function given(type: string, description: string, byDefault?: string): JsonObject {
  return { type: [type, 'null'], description: withDefault(description, byDefault) };
}

type Columns<View> = Readonly<Record<string, keyof View | ((view: View) => string)>>;

/** A list as an outcome: its objects, and a table of the columns, or a line for an empty one. */
export function listing<View extends object>(
  name: string,
  views: readonly View[],
  columns: Columns<View>,
  empty: string | ((database: string) => string),
): Outcome & { readonly text: (database: string) => readonly string[] } {
  return {
    json: { [name]: views },
    text: (database) => {
      if (views.length === 0) return [typeof empty === 'string' ? empty : empty(database)];
      return tableOf(views, columns);
    },
  };
}

export function tableOf<View extends object>(views: readonly View[], columns: Columns<View>): string[] {
  const cells = Object.values(columns);
  const rows = views.map((view) =>
    cells.map((cell) => (typeof cell === 'function' ? cell(view) : String(view[cell] ?? '-'))),
  );
  return table([Object.keys(columns), ...rows]);
}

/** The last column of lists, which has no title. */
export function suspension({ suspended }: { readonly suspended?: string | null }): string {
  return suspended === undefined || suspended === null ? '' : `suspended: ${suspended}`;
}
