/**
 * How a client parses a relay's control channel, and a relay its users' requests: no unexpected errors, and nothing
 * malformed accepted.
 */
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { readAccess } from './access.ts';
import {
  CONTROL_MESSAGE_MAX_BYTES,
  KNOCK_AGENT_MAX_LENGTH,
  parseControlMessage,
  UUID_PATTERN,
} from './control.ts';
import { readAddDomain } from './domains.ts';
import { parseDuration } from './duration.ts';
import { ApiError } from './errors.ts';
import { readCreateLink } from './links.ts';
import { mutated } from './testing/mutated.ts';
import { readCreateTunnel, readExtendTunnel } from './tunnel-requests.ts';

const ID = '8f14e45f-ceea-467f-a0e6-1c1d2e3f4a5b';
const RUNS = { numRuns: 2000 };

describe('a message on the control channel', () => {
  const messages = fc.oneof(
    mutated({ type: 'connection', id: ID }),
    mutated({ type: 'drain' }),
    mutated({ type: 'knock', id: 'k1', address: '192.0.2.7', agent: 'x', at: '2026-07-10T12:00:00.000Z' }),
    mutated({ type: 'problem', code: 'local-malformed', detail: 'x' }),
  );

  it('has the form of its type, or is ignored', () => {
    fc.assert(
      fc.property(messages, (value) => {
        const message = parseControlMessage(JSON.stringify(value));
        if (message === undefined || message.type === 'drain') return;
        if (message.type === 'problem') return assert.match(message.detail, /^[ -~]{0,80}$/);
        assert.ok(encodeURIComponent(message.id).length < 200);
        if (message.type === 'connection') return assert.match(message.id, UUID_PATTERN);
        const { id, address, agent, at } = message;
        assert.ok(agent.length <= KNOCK_AGENT_MAX_LENGTH && agent.isWellFormed());
        assert.ok(address.length <= 45 && at.length <= 40 && id !== '');
        assert.ok(!Number.isNaN(Date.parse(at)));
      }),
      RUNS,
    );
  });

  it('is a SyntaxError if it is not JSON, and never another error', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: CONTROL_MESSAGE_MAX_BYTES }), (text) => {
        try {
          parseControlMessage(text);
        } catch (error) {
          assert.ok(error instanceof SyntaxError);
        }
      }),
      RUNS,
    );
  });
});

describe('the body of a request to the API', () => {
  const limits = { defaultTtl: 3600, maxTtl: 604_800 };
  const readers: readonly (readonly [name: string, valid: unknown, read: (body: unknown) => unknown])[] = [
    [
      'a tunnel',
      {
        local_port: 3000,
        name: 'shop',
        ttl: '1h',
        idle_ttl: false,
        domain: 'a.example.com',
        take_over: true,
        access: {
          allow: ['10.0.0.0/8'],
          basic: [{ user: 'ann', password: 'secret' }],
          password: 'secret',
          links: true,
          knock: true,
          tokens: [{ name: 'ci' }, { name: 'agent', token: 'x'.repeat(24) }],
        },
      },
      (body) => readCreateTunnel(body, limits),
    ],
    ['an extension', { ttl: '1h' }, (body) => readExtendTunnel(body, limits)],
    [
      'an access policy',
      {
        allow: ['10.0.0.0/8', '::1'],
        basic: [{ user: 'ann', password: 'secret' }],
        password: 'secret',
        links: true,
        knock: true,
        tokens: [{ name: 'ci' }, { name: 'agent', token: 'x'.repeat(24) }],
      },
      readAccess,
    ],
    ['a domain', { domain: 'a.example.com' }, readAddDomain],
    ['a link', { ttl: '24h', note: 'for ann', path: '/x' }, readCreateLink],
  ];
  for (const [name, valid, read] of readers)
    it(`is ${name} or an ApiError`, () => {
      read(valid);
      fc.assert(
        fc.property(mutated(valid), (value) => {
          try {
            read(JSON.parse(JSON.stringify(value ?? null)));
          } catch (error) {
            if (!(error instanceof ApiError)) throw error;
          }
        }),
        RUNS,
      );
    });

  it('has durations that are whole seconds, infinite, or missing', () => {
    const parts = fc.array(fc.constantFrom('1', '9', '.', 'h', 'm', 's', 'ms', '-', ' ', 'e', '0'), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(
        fc.oneof(
          parts.map((list) => list.join('')),
          fc.string(),
        ),
        (text) => {
          const seconds = parseDuration(text);
          assert.ok(
            seconds === undefined || seconds === Infinity || (Number.isInteger(seconds) && seconds >= 0),
          );
        },
      ),
      RUNS,
    );
  });
});
