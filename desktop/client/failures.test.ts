import assert from 'node:assert/strict';
import { describeFailure, failureOf, NameInUse, type Reader } from './failures.ts';
import { textOf } from './messages.ts';
import { AccessUnsupported, RelayRefusal, RelayUnreachable } from './relay/errors.ts';

const textFor = (error: unknown, reader: Reader): string => textOf(failureOf(error, reader)?.said ?? '');

describe('a refusal of the relay', () => {
  const cases: readonly (readonly [status: number, code: string, field: string | undefined])[] = [
    [400, 'invalid-port', 'port'],
    [400, 'invalid-name', 'name'],
    [400, 'ttl-too-long', 'ttl'],
    [400, 'invalid-body', undefined],
    [400, 'invalid-access', 'lock'],
    [401, 'invalid-key', 'key'],
    [403, 'plan-too-low', 'name'],
    [403, 'too-many-tunnels', undefined],
    [403, 'agent-access', 'lock'],
    [403, 'agent-name', 'name'],
    [404, 'tunnel-not-found', undefined],
    [404, 'invitation-not-found', 'relay'],
    [409, 'name-taken', 'name'],
    [409, 'name-reserved', 'name'],
    [409, 'domain-in-use', 'domain'],
    [409, 'too-many-links', undefined],
    // What no relay sends, but every object has.
    [400, 'constructor', undefined],
  ];
  for (const [status, code, field] of cases) {
    it(`has the code ${code}, and belongs to ${field ?? 'no field'}`, () => {
      const failure = failureOf(new RelayRefusal(status, 'some text', { code }), 'window');
      assert.deepEqual([failure?.code, failure?.field], [code, field]);
    });
  }

  const withoutCode: readonly (readonly [status: number, text: string, code: string])[] = [
    [400, 'local_port must be 1-65535', 'invalid-port'],
    [401, 'invalid api key', 'invalid-key'],
    [403, 'custom names require the Dev plan or above', 'plan-too-low'],
    [404, 'tunnel not found', 'tunnel-not-found'],
    [409, 'name already in use', 'name-taken'],
    [409, 'something else', 'refused'],
  ];
  for (const [status, text, code] of withoutCode)
    it(`is ${code} if the relay sends "${text}" without a code`, () => {
      assert.equal(failureOf(new RelayRefusal(status, text), 'window')?.code, code);
    });
});

describe('a failure', () => {
  const down = { cause: new Error('connect') };
  const cases: readonly (readonly [what: string, error: Error, ...Record<Reader, string>[]])[] = [
    [
      'says the same to every reader, with what each can do',
      new RelayUnreachable('The relay cannot be reached: nothing listens', down),
      {
        command:
          'The relay cannot be reached: nothing listens. Check --relay or CULVERT_RELAY, or run "culvert doctor" to find the cause.',
        window: 'The relay cannot be reached: nothing listens. Check the address and your network.',
        background: 'The relay cannot be reached: nothing listens. Culvert keeps trying.',
      },
    ],
    [
      'says who can renew a certificate',
      new RelayUnreachable('Its certificate has expired', {
        cause: Object.assign(new Error('no'), { code: 'CERT_HAS_EXPIRED' }),
      }),
      {
        command:
          'Its certificate has expired. Check --relay or CULVERT_RELAY, or run "culvert doctor" to find the cause.',
        window: "Its certificate has expired. Ask the relay's operator, or check the address.",
        background: "Its certificate has expired. Ask the relay's operator, or check the address.",
      },
    ],
    [
      'says when to try again',
      new RelayRefusal(503, 'service unavailable', { code: 'unavailable', retryAfterMs: 1200 }),
      {
        command: 'The relay cannot do this right now: service unavailable. Try again in 2 s.',
        window: 'The relay cannot do this right now: service unavailable. Try again in 2 s.',
        background: 'The relay cannot do this right now: service unavailable. Try again in 2 s.',
      },
    ],
    [
      'says what became of the tunnel',
      new AccessUnsupported('The tunnel was closed immediately'),
      {
        command: 'This relay cannot restrict access to a tunnel. The tunnel was closed immediately.',
        window: 'This relay cannot restrict access to a tunnel. The tunnel was closed immediately.',
        background: 'This relay cannot restrict access to a tunnel. The tunnel was closed immediately.',
      },
    ],
    [
      'says how to get a name back',
      new NameInUse('shop', 'online', 'file'),
      {
        command:
          'Another client is serving your tunnel "shop". Stop that client, or close the tunnel with "culvert close shop", or take it over with --take-over.',
        window:
          'Another client is serving your tunnel "shop". Stop that tunnel first, or choose another name.',
        background:
          'Another client is serving your tunnel "shop". Stop that tunnel first, or choose another name.',
      },
    ],
  ];
  for (const [what, error, texts] of cases)
    it(what, () => {
      const readers: readonly Reader[] = ['command', 'window', 'background'];
      assert.deepEqual(Object.fromEntries(readers.map((reader) => [reader, textFor(error, reader)])), texts);
    });

  it('is a bug unless it is known, which the command shows as it is', () => {
    assert.equal(failureOf(new TypeError('x is not a function'), 'window'), undefined);
    assert.equal(describeFailure(new TypeError('x is not a function')), 'x is not a function.');
  });
});
