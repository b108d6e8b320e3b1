/** What a relay says of itself: who answers something else is none. */
import { RELAY_TITLE } from '../../shared/constraints.ts';
import { ask, type Question } from './ask.ts';

/**
 * @returns the relay's version
 * @throws Error when what answers is no relay, or one that is not ready
 */
export async function versionAt(question: Omit<Question, 'path'>): Promise<string> {
  const { status, text } = await ask({ ...question, path: '/v1/openapi.json' });
  const version = status === 200 ? readVersion(text) : undefined;
  if (version === undefined)
    throw new Error(`what answers does not say that it is a Culvert relay (status ${status})`);
  const ready = await ask({ ...question, path: '/readyz' });
  if (ready.status !== 200) throw new Error('it runs, and is not ready');
  return version;
}

function readVersion(text: string): string | undefined {
  try {
    const { info } = JSON.parse(text) as { info?: { title?: unknown; version?: unknown } };
    const isVersion = typeof info?.version === 'string' && /^[\w.+-]{1,40}$/.test(info.version);
    return info?.title === RELAY_TITLE && isVersion ? String(info.version) : undefined;
  } catch {
    return undefined;
  }
}
