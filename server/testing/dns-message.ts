/** DNS messages as a resolver writes and reads them. */

export interface QueryOptions {
  readonly id?: number;
  readonly flags?: number;
  readonly type?: number;
  readonly class?: number;
  /** of the four sections */
  readonly counts?: readonly number[];
  /** the bytes after the question */
  readonly rest?: Buffer;
}

/** A query with the name as bytes on the wire. */
export function dnsQuery(name: Buffer | string, options: QueryOptions = {}): Buffer {
  const { id = 0x1234, flags = 0x0100, type = 16, class: of = 1, rest = Buffer.alloc(0) } = options;
  const counts = options.counts ?? [1, 0, 0, rest.length > 0 ? 1 : 0];
  const wire = typeof name === 'string' ? wireBytes(name) : name;
  return Buffer.concat([words(id, flags, ...counts), wire, words(type, of), rest]);
}

/** An OPT record (RFC 6891). */
export function optRecord({ size = 1232, version = 0, flags = 0, data = Buffer.alloc(0) } = {}): Buffer {
  return Buffer.concat([
    Buffer.from([0]),
    words(41, size),
    Buffer.from([0, version]),
    words(flags, data.length),
    data,
  ]);
}

export function wireBytes(name: string): Buffer {
  const labels = name
    .split('.')
    .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

export interface DnsResponse {
  readonly id: number;
  readonly code: number;
  readonly authoritative: boolean;
  readonly truncated: boolean;
  readonly recursionDesired: boolean;
  readonly recursionAvailable: boolean;
  /** the name of the question, letters as they are */
  readonly name: string | undefined;
  readonly answers: readonly ReadRecord[];
  readonly authority: readonly ReadRecord[];
  readonly additional: readonly ReadRecord[];
}

export interface ReadRecord {
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly data: Buffer;
}

/** @throws Error when it is not exactly one message */
export function readDnsResponse(packet: Buffer): DnsResponse {
  const flags = packet.readUInt16BE(2);
  if ((flags & 0x8000) === 0) throw new Error('no response');
  let at = 12;
  const name = (): string => {
    const [labels, next] = readName(packet, at);
    at = next;
    return labels.join('.');
  };
  const record = (): ReadRecord => {
    const owner = name();
    const end = at + 10 + packet.readUInt16BE(at + 8);
    const read = {
      name: owner,
      type: packet.readUInt16BE(at),
      class: packet.readUInt16BE(at + 2),
      ttl: packet.readUInt32BE(at + 4),
      data: packet.subarray(at + 10, end),
    };
    at = end;
    return read;
  };
  const records = (section: number): ReadRecord[] =>
    Array.from({ length: packet.readUInt16BE(section) }, () => record());
  const question = packet.readUInt16BE(4) === 0 ? undefined : name();
  if (question !== undefined) at += 4;
  const [answers, authority, additional] = [records(6), records(8), records(10)];
  if (at !== packet.length) throw new Error(`${packet.length - at} bytes too many`);
  return {
    id: packet.readUInt16BE(0),
    code: (flags & 0xf) | (((additional.find(({ type }) => type === 41)?.ttl ?? 0) >>> 24) << 4),
    authoritative: (flags & 0x0400) !== 0,
    truncated: (flags & 0x0200) !== 0,
    recursionDesired: (flags & 0x0100) !== 0,
    recursionAvailable: (flags & 0x0080) !== 0,
    name: question,
    answers: answers ?? [],
    authority: authority ?? [],
    additional: additional ?? [],
  };
}

/** Pointers must lead back. */
function readName(packet: Buffer, start: number): [string[], number] {
  const length = packet.readUInt8(start);
  if (length === 0) return [[], start + 1];
  if (length >= 0xc0) {
    const target = packet.readUInt16BE(start) & 0x3fff;
    if (target >= start) throw new Error('a pointer ahead');
    return [readName(packet, target)[0], start + 2];
  }
  const [labels, next] = readName(packet, start + 1 + length);
  return [[packet.toString('latin1', start + 1, start + 1 + length), ...labels], next];
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, 2 * index);
  return bytes;
}
