/** What becomes of the names that are wanted for tunnels where the account has live tunnels of these names already. */
import type { ApiClient } from '../../engine/relay/api-client.ts';
import type { Prompt } from '../prompt.ts';

/**
 * `take-over`: its tunnel is there and continues, with this client in the place of the one before. `leave`: another client
 * serves it, and shall go on to.
 */
export type Claim = 'create' | 'take-over' | 'leave';

/** Thrown for a name that another client of the account serves. */
export class ServedElsewhere extends Error {
  constructor(name: string) {
    super(
      `Another client serves your tunnel "${name}". Stop it there, or end the tunnel with "culvert close ${name}"`,
    );
  }
}

/**
 * A tunnel without a client is taken over: it is that of a program that was killed, or of a machine that went down. For one
 * that has a client, whoever sits at the terminal is asked.
 *
 * @param prompt `undefined` where nobody is to be asked
 * @returns by name; a name that is not there is new, or the relay could not be asked, which a create will tell
 */
export async function claimNames(
  api: Pick<ApiClient, 'listTunnels'>,
  names: readonly string[],
  prompt: Prompt | undefined,
): Promise<ReadonlyMap<string, Claim>> {
  const claims = new Map<string, Claim>();
  if (names.length === 0) return claims;
  const tunnels = await api.listTunnels().catch(() => []);
  for (const { name, local_port, online } of tunnels) {
    if (name === '' || !names.includes(name)) continue;
    const mayTake = !online || (prompt !== undefined && (await mayReplace(name, local_port, prompt)));
    claims.set(name, mayTake ? 'take-over' : 'leave');
  }
  return claims;
}

async function mayReplace(name: string, port: number, prompt: Prompt): Promise<boolean> {
  const question = `Another client serves your tunnel "${name}" from its port ${port}. Take its place? [y/N] `;
  return /^y(?:es)?$/i.test((await prompt.ask(question)).trim());
}
