/** A long text in blocks, each of which is laid out only once it comes into view. */

/** More of a text takes too long to be laid out at once. */
export const BLOCK_CHARACTERS = 4000;

/** Whole lines, or one line that is too long for that. */
export interface TextBlock {
  /** one text, or the line cut into several */
  readonly pieces: readonly string[];
  readonly lines: number;
  /** characters of the longest */
  readonly columns: number;
}

/** The blocks of a text, in order: all of their pieces together are the text. */
export function textBlocks(text: string): readonly TextBlock[] {
  const blocks: TextBlock[] = [];
  let start = 0;
  let lines = 0;
  let columns = 0;
  const end = (at: number): void => {
    if (at > start) blocks.push({ pieces: pieces(text.slice(start, at)), lines, columns });
    [start, lines, columns] = [at, 0, 0];
  };
  for (let at = 0; at < text.length;) {
    const next = text.indexOf('\n', at) + 1 || text.length;
    if (next - start > BLOCK_CHARACTERS) end(at);
    lines += 1;
    columns = Math.max(columns, next - at);
    at = next;
  }
  end(text.length);
  return blocks;
}

function pieces(text: string): readonly string[] {
  const found: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = start + BLOCK_CHARACTERS;
    // Both halves of a character stay together.
    const cut = /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
    found.push(text.slice(start, cut));
    start = cut;
  }
  return found;
}
