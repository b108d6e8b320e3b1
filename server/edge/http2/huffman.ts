/** The Huffman code of HPACK (RFC 7541 section 5.2 and appendix B). */

/**
 * The length in bits of the code of each byte and of EOS, as letters from `a`, which is 5. The code is canonical: codes
 * ascend by length, and within a length by symbol.
 */
const LENGTHS =
  'isxxxxxxxtzxxzxxxxxxxxzxxxxxxxxxbffhibdgffdgdbbbaaabbbbbbbcdkbhfibccccccccccccccccccccccdcdioijbkabababbbaccbbba' +
  'bcbaabccccckgjixprpprrrsrssssststtrstssssqrsrsstrqprrssqsrrtqrssqqrqsrssprrrsrrsvvporsruvvvwwvtuoqvwwvwtqqvvxwww' +
  'ptpqrqqsrruuttvsvwvvwwwwwxwwwwwvz';
const EOS = 256;
const SHORTEST = 5;
/** Padding is shorter than a byte (RFC 7541 section 5.2). */
const PADDING_MAX = 7;

interface Tables {
  readonly codes: Uint32Array;
  readonly lengths: Uint8Array;
  /** by state and nibble: the next state, plus {@link EMITS} and the byte in the bits above if one is complete */
  readonly steps: Int32Array;
  /** whether a string may end in a state: at the end of a code, or in its padding */
  readonly ends: Uint8Array;
}

const STATE_BITS = 9;
const STATE_MASK = (1 << STATE_BITS) - 1;
const EMITS = 1 << STATE_BITS;
const FAILS = -1;

let built: Tables | undefined;

/** Built when first used: most relays and all commands start without. */
function tables(): Tables {
  return (built ??= build());
}

function build(): Tables {
  const lengths = Uint8Array.from(LENGTHS, (letter) => letter.charCodeAt(0) - 97 + SHORTEST);
  const codes = new Uint32Array(lengths.length);
  const symbols = [...lengths.keys()].toSorted((a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0) || a - b);
  /** For each inner node of the tree and each bit: another inner node, or -1 minus the symbol. */
  const tree: number[][] = [[]];
  const depths = [0];
  const onesOnly = [true];
  let code = 0;
  let previous = SHORTEST;
  for (const symbol of symbols) {
    const length = lengths[symbol] ?? 0;
    code *= 2 ** (length - previous);
    previous = length;
    codes[symbol] = code;
    let node = 0;
    for (let bit = length - 1; bit > 0; bit -= 1) {
      const side = (code >>> bit) & 1;
      const next = tree[node]?.[side] ?? tree.length;
      if (next === tree.length) {
        tree.push([]);
        depths.push((depths[node] ?? 0) + 1);
        onesOnly.push(onesOnly[node] === true && side === 1);
      }
      (tree[node] ?? [])[side] = next;
      node = next;
    }
    (tree[node] ?? [])[code & 1] = -1 - symbol;
    code += 1;
  }
  const steps = new Int32Array(tree.length * 16);
  for (let state = 0; state < tree.length; state += 1)
    for (let nibble = 0; nibble < 16; nibble += 1) steps[state * 16 + nibble] = stepFrom(tree, state, nibble);
  const ends = Uint8Array.from(depths, (depth, state) =>
    Number(onesOnly[state] === true && depth <= PADDING_MAX),
  );
  return { codes, lengths, steps, ends };
}

function stepFrom(tree: readonly (readonly number[])[], state: number, nibble: number): number {
  let node = state;
  let emitted = 0;
  for (let bit = 3; bit >= 0; bit -= 1) {
    const next = tree[node]?.[(nibble >>> bit) & 1] ?? FAILS - 1 - EOS;
    if (next >= 0) node = next;
    else {
      const symbol = -1 - next;
      if (symbol >= EOS) return FAILS;
      // The shortest code has more bits than a nibble, so there is at most one.
      emitted = EMITS | (symbol << (STATE_BITS + 1));
      node = 0;
    }
  }
  return node | emitted;
}

let decoded = Buffer.alloc(0);

/** @returns the decoded text, one character per byte; `undefined` for an invalid code or padding */
export function decodeHuffman(bytes: Buffer, start: number, end: number): string | undefined {
  const { steps, ends } = tables();
  const most = Math.ceil(((end - start) * 8) / SHORTEST);
  if (decoded.length < most) decoded = Buffer.allocUnsafeSlow(Math.max(1024, most));
  let state = 0;
  let length = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    const high = steps[(state << 4) | (byte >>> 4)] ?? FAILS;
    if (high < 0) return undefined;
    if ((high & EMITS) !== 0) decoded[length++] = high >>> (STATE_BITS + 1);
    const low = steps[((high & STATE_MASK) << 4) | (byte & 15)] ?? FAILS;
    if (low < 0) return undefined;
    if ((low & EMITS) !== 0) decoded[length++] = low >>> (STATE_BITS + 1);
    state = low & STATE_MASK;
  }
  return ends[state] === 1 ? decoded.toString('latin1', 0, length) : undefined;
}

/** @returns how many bytes the code of a text has, one character per byte */
export function huffmanLength(text: string): number {
  const { lengths } = tables();
  let bits = 0;
  for (let index = 0; index < text.length; index += 1) bits += lengths[text.charCodeAt(index)] ?? 0;
  return (bits + 7) >>> 3;
}

/** Writes the code of a text, one character per byte, to where there is room for it. @returns one past its last byte */
export function encodeHuffman(text: string, to: Buffer, at: number): number {
  const { codes, lengths } = tables();
  let position = at;
  /** bits that do not fill a byte yet: fewer than 8 of them, and up to 30 of the next code */
  let pending = 0;
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    const symbol = text.charCodeAt(index);
    const length = lengths[symbol] ?? 0;
    pending = pending * 2 ** length + (codes[symbol] ?? 0);
    count += length;
    while (count >= 8) {
      count -= 8;
      const byte = Math.floor(pending / 2 ** count);
      to[position++] = byte;
      pending -= byte * 2 ** count;
    }
  }
  if (count > 0) to[position++] = (pending << (8 - count)) | (0xff >>> count);
  return position;
}
