/**
 * Methods: what a window, a command or an agent may ask of a program that serves tunnels. Each is one row of a table, from
 * which names, types and checks follow. The transports know only the names: Electron's IPC, and peer.ts over WebSockets.
 */
import * as yup from 'yup';
import { MessageError, type MessageValue } from '../messages.ts';
import type { Answer, CallError } from './peer.ts';

/** What is sent is only read. */
type Sent<T> = T extends Uint8Array ? T : T extends object ? { readonly [K in keyof T]: Sent<T[K]> } : T;

/** @template Host what the row needs of the program, which gives it */
export interface Method<Payload, Result, Host> {
  /** Throws for a value that does not fit. */
  readonly payload: Schema<Payload>;
  readonly run: (payload: Payload, host: Host) => Result | Promise<Result>;
  /** whether an agent may call it */
  readonly isForAgents: boolean;
}

interface Schema<Payload> {
  validateSync(sent: unknown): Payload;
}

/** A row of any table for this host: it runs only with what its own payload has accepted. */
type AnyMethod<Host> = Pick<Method<unknown, unknown, Host>, 'payload'> & {
  readonly run: (payload: never, host: Host) => unknown;
};

/** Makes the rows of a table for a host. */
export function methodsFor<Host>() {
  return <T, Result>(
    payload: yup.Schema<T>,
    run: (payload: Sent<T>, host: Host) => Result | Promise<Result>,
  ): Method<Sent<T>, Result, Host> & { readonly isForAgents: false } =>
    // A value of one type can be read as the other.
    ({ payload: payload as unknown as yup.Schema<Sent<T>>, run, isForAgents: false });
}

/** The same row, which agents may call. */
export function forAgents<Row>(row: Row): Omit<Row, 'isForAgents'> & { readonly isForAgents: true } {
  return { ...row, isForAgents: true };
}

/** Method → payload and result, derived from a table. */
export type MethodsOf<Table> = {
  [M in keyof Table]: Table[M] extends {
    readonly payload: Schema<infer Payload>;
    readonly run: (...given: never) => infer Result;
  }
    ? { payload: Payload; result: Awaited<Result> }
    : never;
};

/** An object with these fields, and no others. */
export function exact<T extends yup.ObjectShape>(shape: T) {
  return yup.object(shape).strict().noUnknown().required();
}

/** A call that was refused, with the reason for people. */
export class CallRefused extends MessageError {
  /** such as `unknown-request` */
  declare readonly code: string;

  constructor(code: string, said: MessageValue) {
    super(said, { code });
    this.name = 'CallRefused';
  }
}

/** What a program says of errors. */
export interface ErrorWords {
  /** @returns `undefined` for a bug, which must not be reported as a failure */
  readonly describe: (error: unknown) => CallError | undefined;
  /** shown for a bug, and for a method that does not exist */
  readonly wrong: string;
  readonly reportBug: (name: string, error: unknown) => void;
}

/**
 * Answers a call, over whatever it came: the payload is checked here and nowhere else.
 *
 * @param name any text at all; only rows of the table exist
 * @param sent any value at all
 * @returns never rejects: an error is part of the answer
 */
export async function answerCall<Host>(
  table: Readonly<Record<string, AnyMethod<Host>>>,
  name: string,
  sent: unknown,
  host: Host,
  { describe, wrong, reportBug }: ErrorWords,
): Promise<Answer<unknown>> {
  const row = Object.hasOwn(table, name) ? table[name] : undefined;
  if (row === undefined) return refuse({ code: 'no-such-method', text: wrong });
  try {
    return { ok: true, value: await row.run(row.payload.validateSync(sent) as never, host) };
  } catch (error) {
    if (error instanceof yup.ValidationError) return refuse(badPayload(error));
    const known = describe(error);
    if (known !== undefined) return refuse(known);
    reportBug(name, error);
    return refuse({ code: 'internal', text: wrong });
  }
}

export function refuse(error: CallError): { ok: false; error: CallError } {
  return { ok: false, error };
}

function badPayload({ path, message }: yup.ValidationError): CallError {
  return {
    code: 'bad-payload',
    text: message,
    ...(path === undefined || path === '' ? {} : { field: path }),
  };
}
