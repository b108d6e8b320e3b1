/** Where the relay tells its operator what happened: one line an event. */
export type Log = (line: string) => void;

/** Writes to stderr, because stdout carries only what programs read. */
export const stderrLog: Log = (line) => {
  process.stderr.write(`${new Date().toISOString()} ${line}\n`);
};

/** The text of anything that can be thrown, with its cause, without a stack. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${describeError(error.cause)}`;
}
