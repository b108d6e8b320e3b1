import assert from 'node:assert/strict';
import { LINK_NOTE_MAX_LENGTH } from '../../../shared/links.ts';
import type { Channels } from '../../shared/ipc.ts';
import {
  KEY_MAX_CHARS,
  RELAY_ID_MAX_CHARS,
  RELAY_MAX_CHARS,
  SEARCH_MAX_CHARS,
  TTL_MAX_CHARS,
  TUNNEL_KEY_MAX_CHARS,
} from '../limits.ts';
import { PAYLOADS } from './payloads.ts';

const FORM = { port: 3000, name: '', ttl: '', idle: false, hostHeader: 'keep', lock: { kind: 'anyone' } };
const SIGN_IN = { relay: 'relay.example.com', key: 'cvt_', keep: 'system' };
const letters = (length: number): string => 'x'.repeat(length);

describe('what the page may send', () => {
  const limits: [string, number, keyof Channels, (length: number) => object][] = [
    ['relay', RELAY_MAX_CHARS, 'session:sign-in', (length) => ({ ...SIGN_IN, relay: letters(length) })],
    ['key', KEY_MAX_CHARS, 'session:sign-in', (length) => ({ ...SIGN_IN, key: letters(length) })],
    ['key', TUNNEL_KEY_MAX_CHARS, 'tunnel:stop', (length) => ({ key: letters(length) })],
    ['ttl', TTL_MAX_CHARS, 'tunnel:create', (length) => ({ ...FORM, ttl: `${'0'.repeat(length - 2)}1h` })],
    [
      'note',
      LINK_NOTE_MAX_LENGTH,
      'link:create',
      (length) => ({ key: 'k', note: letters(length), ttl: '1h' }),
    ],
    ['id', RELAY_ID_MAX_CHARS, 'knock:refuse', (length) => ({ key: 'k', id: letters(length) })],
    ['search', SEARCH_MAX_CHARS, 'log:list', (length) => ({ key: 'k', search: letters(length) })],
  ];
  for (const [field, max, channel, payload] of limits) {
    it(`${channel}: ${field} of ${max} characters, and no more`, () => {
      assert.equal(PAYLOADS[channel].isValidSync(payload(max)), true);
      assert.throws(
        () => PAYLOADS[channel].validateSync(payload(max + 1)),
        (error: Error & { path?: string }) => error.path === field && error.message.includes(String(max)),
      );
    });
  }
});
