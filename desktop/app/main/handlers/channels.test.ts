import assert from 'node:assert/strict';
import { LINK_NOTE_MAX_LENGTH } from '../../../../shared/links.ts';
import {
  CHANNELS,
  type Channels,
  COPIED_TEXT_MAX_CHARS,
  DOMAIN_TEXT_MAX_CHARS,
  INVITATION_MAX_CHARS,
  KEY_MAX_CHARS,
  MEMBER_LABEL_MAX_CHARS,
  PATH_MAX_CHARS,
  RELAY_MAX_CHARS,
} from './channels.ts';
import {
  IMPORT_TEXT_MAX_CHARS,
  LOG_PART_NAME_MAX_CHARS,
  SIGNING_SECRET_ID_MAX_CHARS,
  SIGNING_SECRET_MAX_CHARS,
} from './log-rows.ts';
import { OWN_ID_MAX_CHARS, RELAY_ID_MAX_CHARS, TUNNEL_KEY_MAX_CHARS } from './channel.ts';
import { LOG_REQUESTS_MAX } from '../tunnels/tunnel-list.ts';
import { TTL_MAX_CHARS } from '../tunnels/create-form-schema.ts';
import { SEARCH_MAX_CHARS } from '../../../client/inspector/records.ts';
import { EDIT_TEXT_MAX_CHARS } from '../../../client/methods/log-methods.ts';

const FORM = { port: 3000, name: '', ttl: '', idle: false, hostHeader: 'keep', lock: { kind: 'anyone' } };
const SIGN_IN = { relay: 'relay.example.com', key: 'cvt_', keep: 'system' };
/** UTS #46 removes it from names. */
const SOFT_HYPHEN = '\u00ad';
const exported = (count: number) => ({
  key: 'k',
  ids: Array.from({ length: count }, () => 1),
  reveal: false,
});
const letters = (length: number): string => 'x'.repeat(length);

describe('payloads of the page', () => {
  const limits: [string, number, keyof Channels, (length: number) => object][] = [
    ['relay', RELAY_MAX_CHARS, 'session:sign-in', (length) => ({ ...SIGN_IN, relay: letters(length) })],
    ['key', KEY_MAX_CHARS, 'session:sign-in', (length) => ({ ...SIGN_IN, key: letters(length) })],
    ['key', TUNNEL_KEY_MAX_CHARS, 'tunnel:stop', (length) => ({ key: letters(length) })],
    ['ttl', TTL_MAX_CHARS, 'tunnel:create', (length) => ({ ...FORM, ttl: `${'0'.repeat(length - 2)}1h` })],
    [
      'note',
      LINK_NOTE_MAX_LENGTH,
      'link:create',
      (length) => ({ key: 'k', note: letters(length), once: false, ttl: '1h' }),
    ],
    ['id', RELAY_ID_MAX_CHARS, 'knock:refuse', (length) => ({ key: 'k', id: letters(length) })],
    ['id', OWN_ID_MAX_CHARS, 'undo:take', (length) => ({ id: letters(length) })],
    ['paths[0]', PATH_MAX_CHARS, 'folder:drop', (length) => ({ paths: [letters(length)] })],
    ['address', INVITATION_MAX_CHARS, 'invitation:open', (length) => ({ address: letters(length) })],
    [
      'secret',
      SIGNING_SECRET_MAX_CHARS,
      'signature:add-secret',
      (length) => ({ key: 'k', provider: 'github', secret: letters(length) }),
    ],
    [
      'id',
      SIGNING_SECRET_ID_MAX_CHARS,
      'signature:remove-secret',
      (length) => ({ key: 'k', id: letters(length) }),
    ],
    [
      'domain',
      DOMAIN_TEXT_MAX_CHARS,
      'domain:add',
      (length) => ({ domain: 'a.example'.padEnd(length, SOFT_HYPHEN) }),
    ],
    ['label', MEMBER_LABEL_MAX_CHARS, 'team:invite', (length) => ({ label: letters(length), ttl: '24h' })],
    ['text', COPIED_TEXT_MAX_CHARS, 'text:copy', (length) => ({ text: letters(length) })],
    ['text', IMPORT_TEXT_MAX_CHARS, 'import:text', (length) => ({ key: 'k', text: letters(length) })],
    [
      'edit.target',
      EDIT_TEXT_MAX_CHARS,
      'log:edit',
      (length) => ({ key: 'k', id: 1, edit: { method: '', target: letters(length), fields: [['', '']] } }),
    ],
    [
      'search',
      SEARCH_MAX_CHARS,
      'log:view',
      (length) => ({ key: 'k', part: 'all', search: letters(length) }),
    ],
    [
      'part',
      LOG_PART_NAME_MAX_CHARS,
      'log:view',
      (length) => ({ key: 'k', part: letters(length), search: '' }),
    ],
  ];
  for (const [field, max, channel, payload] of limits) {
    it(`${channel}: limits ${field} to ${max} characters`, () => {
      CHANNELS[channel].payload.validateSync(payload(max));
      assert.throws(
        () => CHANNELS[channel].payload.validateSync(payload(max + 1)),
        (error: Error & { path?: string }) => error.path === field && error.message.includes(String(max)),
      );
    });
  }

  it('team:invite: rejects a name that is empty, or that can look like another one', () => {
    for (const [label, problem] of [
      ['', 'Enter a name.'],
      ['ann\u202e', 'A name cannot contain control characters.'],
      ['ann\n', 'A name cannot contain control characters.'],
    ])
      assert.throws(() => CHANNELS['team:invite'].payload.validateSync({ label, ttl: '24h' }), {
        path: 'label',
        message: problem,
      });
  });

  it('log:export: accepts 1 to 10,000 requests', () => {
    CHANNELS['log:export'].payload.validateSync(exported(LOG_REQUESTS_MAX));
    for (const count of [0, LOG_REQUESTS_MAX + 1])
      assert.throws(() => CHANNELS['log:export'].payload.validateSync(exported(count)), { path: 'ids' });
  });
});
