import { REDACTED } from '../../../../shared/redacted.ts';
import { say } from '../../said/said.ts';
import type { RequestDetail } from '../records.ts';
import { redactField, redactTarget } from '../redaction.ts';
import { percentEncoded } from './editable.ts';
import type { EditProblem, RequestEdit } from './request-edit.ts';

/** The request with its secrets, or what in it stands for a secret that nobody knows. */
export interface Restored {
  readonly edit: RequestEdit;
  readonly problems: readonly EditProblem[];
}

/**
 * Puts the secrets of a recorded request back where an edited one says `[redacted]`: whoever edits it need not see them. One is
 * put back only where it was, in the field and under the key that it had.
 *
 * @param original with its secrets
 */
export function restoreSecrets(edit: RequestEdit, original: RequestDetail): Restored {
  const problems: EditProblem[] = [];
  const known = new KnownSecrets(original);
  const restore = (part: string, place: string) => (key: string, text: string) => {
    if (text !== REDACTED) return text;
    const secret = known.take(place, key);
    if (secret !== undefined) return place === '' ? percentEncoded(secret) : secret;
    const values = { mark: REDACTED, id: original.id };
    problems.push({
      part,
      said:
        place === ''
          ? say('edit.noSecretInPath', values)
          : say('edit.noSecretInHeader', { ...values, name: place }),
    });
    return text;
  };
  const target = redactTarget(edit.target, restore('target', ''));
  const fields = edit.fields.map(([name, value], index) => {
    const restored = redactField(name, value, restore(`fields.${index}.value`, name.toLowerCase()));
    return [name, restored] as const;
  });
  return { edit: { ...edit, target, fields }, problems };
}

/** Secrets of a request by where they are, in the order in which they are there. */
class KnownSecrets {
  readonly #secrets = new Map<string, string[]>();

  constructor({ target, request }: RequestDetail) {
    redactTarget(target, this.#keep(''));
    for (const [name, value] of request.fields) redactField(name, value, this.#keep(name.toLowerCase()));
  }

  take(place: string, key: string): string | undefined {
    return this.#secrets.get(`${place} ${key.trim()}`)?.shift();
  }

  #keep(place: string): (key: string, secret: string) => string {
    return (key, secret) => {
      const id = `${place} ${key.trim()}`;
      const secrets = this.#secrets.get(id);
      if (secrets === undefined) this.#secrets.set(id, [secret]);
      else secrets.push(secret);
      return secret;
    };
  }
}
