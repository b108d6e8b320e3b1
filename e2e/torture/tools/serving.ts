/** How long it takes until a tunnel serves, measured by new visitors. */
import { eventually, timed } from '../../support/deadline.ts';
import { visit } from '../../support/raw-http.ts';

/** ms after which nobody waits any longer: more than any row allows. */
const GIVE_UP_MS = 40_000;

/**
 * Sends requests to a tunnel whose service responds with `ok`, until it does.
 *
 * @returns seconds it took, and what came instead if it never did
 */
export async function secondsUntilServed(
  relay: { readonly port: number },
  host: string,
): Promise<{ readonly seconds: number; readonly faults: readonly string[] }> {
  const served = async (): Promise<void> => {
    const { status, text } = await visit(relay.port, { host });
    if (status !== 200 || text !== 'ok') throw new Error(`answered ${status}: ${text}`);
  };
  const { value, ms } = await timed(() =>
    eventually(GIVE_UP_MS, served).then(
      () => [],
      (error: unknown) => [String(error)],
    ),
  );
  return { seconds: ms / 1000, faults: value };
}
