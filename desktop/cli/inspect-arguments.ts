import { UsageError } from './usage-error.ts';

export interface InspectCommand {
  readonly command: 'inspect';
  readonly action:
    | { readonly name: 'list' | 'watch' }
    | { readonly name: 'show' | 'replay'; readonly request: number; readonly asCurl: boolean };
  /** id or slug; `undefined` for the only one there is */
  readonly tunnel: string | undefined;
  readonly reveal: boolean;
  readonly json: boolean;
}

interface InspectValues {
  readonly tunnel?: string | undefined;
  readonly reveal?: boolean | undefined;
  readonly curl?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/**
 * @param operands what follows `culvert inspect`
 * @throws UsageError
 */
export function readInspect(operands: readonly string[], values: InspectValues): InspectCommand {
  const { tunnel, reveal = false, curl = false, json = false } = values;
  const action = readAction(operands, curl);
  if (curl && (action.name !== 'show' || json))
    throw new UsageError('--curl is for "culvert inspect show", without --json.');
  return { command: 'inspect', action, tunnel, reveal, json };
}

function readAction(operands: readonly string[], asCurl: boolean): InspectCommand['action'] {
  const [name = 'list', number, ...more] = operands;
  switch (name) {
    case 'list':
    case 'watch':
      if (number === undefined) return { name };
      throw new UsageError(`"${[number, ...more].join(' ')}" is more than "culvert inspect ${name}" takes.`);
    case 'show':
    case 'replay': {
      if (more.length > 0)
        throw new UsageError(`"${more.join(' ')}" is more than "culvert inspect ${name}" takes.`);
      if (number === undefined || !/^[1-9]\d{0,14}$/.test(number))
        throw new UsageError(`Say which request to ${name}: its number, as "culvert inspect" shows it.`);
      return { name, request: Number(number), asCurl };
    }
    default:
      throw new UsageError(`"culvert inspect" takes list, show, replay or watch, not "${name}".`);
  }
}
