/** Who has come in, as passes say it: by the id of a link or a knock, too, which nobody else is told. */

const LINK = /^link:([\da-f]{16}):(.*)$/s;

/** Who has come with a link. */
export function visitorByLink({ id, note }: { readonly id: string; readonly note: string }): string {
  return `link:${id}:${note}`;
}

/** @returns id of the link that a visitor has come with; `undefined` for anybody else */
export function linkIdOf(visitor: string): string | undefined {
  return LINK.exec(visitor)?.[1];
}

const KNOCK = /^knock:([\da-f]{16})$/;

/** Who has knocked: he is in once its owner has let him in. */
export function visitorByKnock(id: string): string {
  return `knock:${id}`;
}

/** @returns id of the knock of a visitor; `undefined` for anybody else */
export function knockIdOf(visitor: string): string | undefined {
  return KNOCK.exec(visitor)?.[1];
}

/** @returns who it is as the local service is told (docs/protocol.md section 11.1) */
export function shownVisitor(visitor: string): string {
  const [, , note] = LINK.exec(visitor) ?? [];
  if (note === undefined) return KNOCK.test(visitor) ? 'knock' : visitor;
  return note === '' ? 'link' : `link:${note}`;
}
