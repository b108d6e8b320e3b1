/** Compares the relay's HPACK with Python's: what one writes, the other has to read, also when it was damaged (RFC 7541). */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { CompressionError, HeaderDecoder, HeaderEncoder } from '../../../server/edge/http2/hpack.ts';
import { Random } from '../../support/random.ts';
import type { FuzzRun } from './fuzzer.ts';
import { type Field, mutatedFields, plainFields } from './http2-requests.ts';

const PEER = fileURLToPath(new URL('hpack-peer.py', import.meta.url));
/** Cases for one run of Python. */
const BATCH = 500;
const BLOCKS_MAX = 6;
const TABLE_SIZES = [0, 40, 100, 256, 4096] as const;

/** The fields of each block; `null` for the first that cannot be read. */
type Reading = readonly (readonly Field[] | null)[];

/** Lists of fields, each with the size of the table from there on, and the relay's blocks of them. */
interface Case {
  readonly lists: readonly (readonly [size: number, fields: readonly Field[]])[];
  readonly blocks: readonly string[];
  readonly isDamaged: boolean;
}

/**
 * Compares readings of generated blocks.
 *
 * @returns how many damaged blocks both have refused
 * @throws Error that says which case to repeat
 */
export function compareHpack({ seed, from, count }: FuzzRun): number {
  let refused = 0;
  for (let first = from; first < from + count; first += BATCH) {
    const size = Math.min(BATCH, from + count - first);
    const cases = Array.from({ length: size }, (_, index) => makeCase(new Random(seed, first + index)));
    for (const [index, { read, written }] of askPeer(cases).entries()) {
      const { lists, blocks, isDamaged } = cases[index] ?? { lists: [], blocks: [], isDamaged: false };
      const fields = lists.map(([, list]) => list);
      const own = readBlocks(blocks);
      const isRefused = own.at(-1) === null;
      if (isRefused) refused += 1;
      const where = `; repeat with --hpack --seed ${seed} --from ${first + index} --count 1`;
      mustEqual(readBlocks(written), fields, `the relay misreads Python's blocks${where}`);
      if (!isDamaged) mustEqual(read, fields, `Python misreads the relay's blocks${where}`);
      // The relay may be stricter.
      if (!isRefused) mustEqual(own, read, `the relay reads damaged blocks as Python does not${where}`);
    }
  }
  return refused;
}

function mustEqual(seen: Reading, wanted: Reading, what: string): void {
  if (JSON.stringify(seen) !== JSON.stringify(wanted)) throw new Error(what);
}

function makeCase(random: Random): Case {
  const encoder = new HeaderEncoder();
  const length = 1 + random.below(BLOCKS_MAX);
  const lists = Array.from({ length }, () => {
    let fields = plainFields(random);
    for (let left = random.below(4); left > 0; left -= 1) fields = mutatedFields(fields, random);
    return [random.pick(TABLE_SIZES), fields] as const;
  });
  const blocks = lists.map(([size, fields]) => {
    encoder.resize(random.pick(TABLE_SIZES));
    encoder.resize(size);
    encoder.begin();
    for (const [name, value] of fields) encoder.add(name, value);
    return encoder.finish();
  });
  const isDamaged = random.below(2) === 0;
  const damaged = random.below(length);
  return {
    lists,
    blocks: blocks.map((block, index) =>
      (isDamaged && index === damaged ? damage(block, random) : block).toString('hex'),
    ),
    isDamaged,
  };
}

function damage(block: Buffer, random: Random): Buffer {
  const at = random.below(block.length);
  if (random.below(3) === 0) return block.subarray(0, at);
  const bytes = Buffer.from(block);
  bytes[at] = random.below(2) === 0 ? random.below(256) : (bytes[at] ?? 0) ^ (1 << random.below(8));
  return bytes;
}

function readBlocks(blocks: readonly string[]): Reading {
  const decoder = new HeaderDecoder();
  const seen: (Field[] | null)[] = [];
  for (const block of blocks) {
    const fields: Field[] = [];
    try {
      decoder.decode(Buffer.from(block, 'hex'), ({ name, value }) => fields.push([name, value]));
    } catch (error) {
      if (!(error instanceof CompressionError)) throw error;
      return [...seen, null];
    }
    seen.push(fields);
  }
  return seen;
}

function askPeer(cases: readonly Case[]): { readonly read: Reading; readonly written: readonly string[] }[] {
  const input = JSON.stringify(
    cases.map(({ lists, blocks }) => ({
      blocks,
      lists: lists.map(([size, fields]) => [size, fields.map((field) => field.map(toHex))]),
    })),
  );
  const output = execFileSync('/usr/bin/python3', [PEER], { input, maxBuffer: 2 ** 30, encoding: 'utf8' });
  const answers = JSON.parse(output) as { read: Reading; written: string[] }[];
  return answers.map(({ read, written }) => ({
    written,
    read: read.map(
      (fields) => fields?.map(([name, value]) => [fromHex(name), fromHex(value)] as const) ?? null,
    ),
  }));
}

function toHex(text: string): string {
  return Buffer.from(text, 'latin1').toString('hex');
}

function fromHex(hex: string): string {
  return Buffer.from(hex, 'hex').toString('latin1');
}
