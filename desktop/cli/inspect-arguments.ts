import { UsageError } from '../client/failures.ts';

/** What the command line changes of a request; `undefined` stays. */
export interface RequestChanges {
  readonly method: string | undefined;
  readonly path: string | undefined;
  /** `Name: value`, in place of those of that name; without a value, none */
  readonly headers: readonly string[];
  /** `-`: standard input */
  readonly body: string | undefined;
}

export interface InspectCommand {
  readonly command: 'inspect';
  readonly action:
    | { readonly name: 'list' | 'watch' }
    | { readonly name: 'show' | 'replay'; readonly request: number; readonly asCurl: boolean }
    /** without `changes`, in an editor */
    | { readonly name: 'edit'; readonly request: number; readonly changes: RequestChanges | undefined }
    /** no numbers: all */
    | { readonly name: 'export'; readonly requests: readonly number[] }
    /** without `file`, from standard input */
    | { readonly name: 'import'; readonly file: string | undefined };
  /** id or slug; `undefined` for the only one there is */
  readonly tunnel: string | undefined;
  /** words that listed requests have; `''` for all */
  readonly filter: string;
  readonly reveal: boolean;
  readonly json: boolean;
}

interface InspectValues {
  readonly tunnel?: string | undefined;
  readonly reveal?: boolean | undefined;
  readonly filter?: string | undefined;
  readonly curl?: boolean | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly header?: readonly string[] | undefined;
  readonly body?: string | undefined;
  readonly json?: boolean | undefined;
}

/** Where `--filter` chooses. */
const FILTERED: readonly string[] = ['list', 'watch', 'export', 'import'];

/**
 * @param operands what follows `culvert inspect`
 * @throws UsageError
 */
export function readInspect(operands: readonly string[], values: InspectValues): InspectCommand {
  const { tunnel, filter, reveal = false, curl = false, json = false } = values;
  const action = readAction(operands, values);
  if (curl && (action.name !== 'show' || json))
    throw new UsageError('--curl is for "culvert inspect show", without --json.');
  if (filter !== undefined && !FILTERED.includes(action.name))
    throw new UsageError('--filter is for the list, watch, export and import.');
  if (action.name !== 'edit' && changesOf(values) !== undefined)
    throw new UsageError('--method, --path, --header and --body are for "culvert inspect edit".');
  return { command: 'inspect', action, tunnel, filter: filter ?? '', reveal, json };
}

/** @returns `undefined` if there are none */
function changesOf({ method, path, header = [], body }: InspectValues): RequestChanges | undefined {
  const isGiven = [method, path, body].some((value) => value !== undefined) || header.length > 0;
  return isGiven ? { method, path, headers: header, body } : undefined;
}

function readAction(operands: readonly string[], values: InspectValues): InspectCommand['action'] {
  const [name = 'list', first, ...more] = operands;
  switch (name) {
    case 'list':
    case 'watch':
      refuseMore(name, operands.slice(1));
      return { name };
    case 'show':
    case 'replay':
      refuseMore(name, more);
      return { name, request: readNumber(name, first), asCurl: values.curl ?? false };
    case 'edit':
      refuseMore(name, more);
      return { name, request: readNumber(name, first), changes: changesOf(values) };
    case 'export':
      return { name, requests: operands.slice(1).map((number) => readNumber(name, number)) };
    case 'import':
      refuseMore(name, more);
      return { name, file: first };
    default:
      throw new UsageError(
        `"culvert inspect" takes list, show, replay, edit, export, import or watch, not "${name}".`,
      );
  }
}

function refuseMore(name: string, more: readonly string[]): void {
  if (more.length > 0)
    throw new UsageError(`"${more.join(' ')}" is more than "culvert inspect ${name}" takes.`);
}

function readNumber(name: string, number: string | undefined): number {
  if (number !== undefined && /^[1-9]\d{0,14}$/.test(number)) return Number(number);
  throw new UsageError(`Say which request to ${name}: its number, as "culvert inspect" shows it.`);
}
