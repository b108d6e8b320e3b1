import type { AgentEntrance } from '../oauth/entrance.ts';

type Agents = Pick<AgentEntrance, 'respond' | 'challenge' | 'find' | 'note'>;

/**
 * Agents at tunnels, without a database.
 *
 * @param known by their token
 * @param used ids of those that were admitted
 */
export function fakeAgents(
  known: ReadonlyMap<string, ReturnType<Agents['find']>> = new Map(),
  used: string[] = [],
): Agents {
  return {
    respond: () => undefined,
    challenge: (_asked, isWrong) =>
      `Bearer resource_metadata="here"${isWrong ? ', error="invalid_token"' : ''}`,
    find: (_tunnel, _access, token) => known.get(token) ?? 'wrong',
    note: (id) => void used.push(id),
  };
}
