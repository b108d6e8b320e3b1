/** Where a database is, as in `CULVERT_DATABASE_URL` (README.md). */

export type DatabaseAddress =
  | { readonly kind: 'sqlite'; /** of the file, or `:memory:` */ readonly path: string }
  | {
      readonly kind: 'postgres';
      /** with whatever password is in it, so not for people */ readonly url: string;
    };

/**
 * Reads `sqlite:<path>` or `postgres://…`.
 *
 * @returns `undefined` for a text that is neither
 */
export function readDatabaseAddress(text: string): DatabaseAddress | undefined {
  const path = /^sqlite:(.+)$/s.exec(text)?.[1];
  if (path !== undefined) return { kind: 'sqlite', path };
  const url = /^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  // Without a name, a client would guess one: that of the user.
  return url !== undefined && /^\/[^/]+$/.test(url.pathname) ? { kind: 'postgres', url: text } : undefined;
}

/** @returns how people know the database: its path, or its address without password and parameters */
export function nameOfDatabase(address: DatabaseAddress): string {
  if (address.kind === 'sqlite') return address.path;
  const { username, host, pathname } = new URL(address.url);
  return `postgres://${username === '' ? '' : `${username}@`}${host}${pathname}`;
}
