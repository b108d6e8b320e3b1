/** Records in the form in which they travel (RFC 1035 section 3.2.1), with the zone's own name as their owner. */
import { RecordType } from './constants.ts';
import { wireName } from './wire-name.ts';

export interface DnsRecord {
  readonly type: number;
  /** seconds */
  readonly ttl: number;
  readonly data: Buffer;
}

/**
 * s that resolvers keep a challenge's text, or that there is none: the next order of the same name has another one, and
 * nobody asks for long.
 */
const TEXT_TTL = 1;
/** s that they keep whom to ask. */
const NAME_SERVER_TTL = 300;
/** RFC 8482 section 4.3 advises a long time. */
const NO_ANY_TTL = 3600;

/** Numbers of an SOA record (RFC 1035 section 3.3.13): nothing is ever transferred, so only the last one has a meaning. */
const SOA_NUMBERS = [1, 3600, 600, 86_400, TEXT_TTL];

/** @param text of at most 255 bytes */
export function textRecord(text: string): DnsRecord {
  return { type: RecordType.TXT, ttl: TEXT_TTL, data: characterString(text) };
}

export function nameServerRecord(nameServer: string): DnsRecord {
  return {
    type: RecordType.NS,
    ttl: NAME_SERVER_TTL,
    data: Buffer.from(wireName(nameServer), 'latin1'),
  };
}

/**
 * @param nameServer host name of the relay
 * @param mark a label of the mailbox, by which a relay recognizes its own zone (delegation.ts)
 */
export function authorityRecord(nameServer: string, mark: string): DnsRecord {
  const numbers = Buffer.alloc(4 * SOA_NUMBERS.length);
  for (const [index, number] of SOA_NUMBERS.entries()) numbers.writeUInt32BE(number, 4 * index);
  const names = wireName(nameServer) + wireName(`${mark}.${nameServer}`);
  return {
    type: RecordType.SOA,
    ttl: TEXT_TTL,
    data: Buffer.concat([Buffer.from(names, 'latin1'), numbers]),
  };
}

/** What is given in place of all records there are: they would make a response large for a small question (RFC 8482). */
export const NO_ANY: DnsRecord = {
  type: RecordType.HINFO,
  ttl: NO_ANY_TTL,
  data: Buffer.concat([characterString('RFC8482'), characterString('')]),
};

/** RFC 1035 section 3.3. */
function characterString(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}
