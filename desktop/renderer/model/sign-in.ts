/** The sign-in form: what can be said about it before a relay is asked. */
import { API_KEY_PATTERN, API_KEY_PREFIX } from '../../../shared/constraints.ts';
import type { KeyKept } from '../../shared/snapshot.ts';

export interface SignInProblems {
  readonly relay?: string;
  readonly key?: string;
}

export const KEEP_WORDS: Readonly<Record<KeyKept, { label: string; hint: string; kept: string }>> = {
  system: {
    label: 'Encrypted by this system',
    hint: 'You stay signed in.',
    kept: 'Kept on this computer, encrypted by the system.',
  },
  session: {
    label: 'Until Culvert quits',
    hint: 'Nothing is stored; sign in again next time.',
    kept: 'In memory only. You sign in again after Culvert quits.',
  },
  file: {
    label: 'In a plain file',
    hint: 'Not encrypted: every program you run can read it.',
    kept: 'In a plain file that every program you run can read.',
  },
};

/** @returns what to change in each field; both are trimmed first */
export function signInProblems(relay: string, key: string): SignInProblems {
  return { ...problem('relay', relayProblem(relay.trim())), ...problem('key', keyProblem(key.trim())) };
}

function relayProblem(relay: string): string | undefined {
  if (relay === '') return 'Give the address of your relay, such as https://relay.example.com.';
  // Main adds the scheme if people leave it out.
  const url = URL.parse(relay.includes('://') ? relay : `https://${relay}`);
  // Chromium accepts a host with a space in it, Node does not.
  const isWeb = url !== null && !/\s/.test(relay) && (url.protocol === 'http:' || url.protocol === 'https:');
  if (isWeb) return undefined;
  return "This is not a relay's address. Give one such as https://relay.example.com.";
}

function keyProblem(key: string): string | undefined {
  if (key === '') return 'Paste your API key.';
  if (!key.startsWith(API_KEY_PREFIX))
    return `An API key begins with ${API_KEY_PREFIX}. This is something else.`;
  if (!API_KEY_PATTERN.test(key))
    return 'The key is not complete, or has characters that no key has. Copy it again.';
  return undefined;
}

function problem(field: keyof SignInProblems, text: string | undefined): SignInProblems {
  return text === undefined ? {} : { [field]: text };
}
