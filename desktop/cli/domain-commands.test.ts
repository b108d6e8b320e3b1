import assert from 'node:assert/strict';
import type { CheckedDomain, Domain } from '../../shared/domains.ts';
import { UsageError } from '../client/failures.ts';
import { DomainUnsupported, RelayUnreachable } from '../client/relay/errors.ts';
import { NO_FILES } from '../testing/files.ts';
import { contextOf, record } from '../testing/recorder.ts';
import { type RestResponse, startRestRelay } from '../testing/rest-relay.ts';
import { closeServers } from '../testing/servers.ts';
import { readArguments } from './commands.ts';
import { NoSuchDomain } from './domain-commands.ts';
import { localTime } from './format.ts';

const ID = '0f0c5e9a-6a6e-4d53-9d0c-0a1b2c3d4e5f';
const PENDING: Domain = {
  id: ID,
  domain: 'app.example.com',
  status: 'pending',
  records: [
    { type: 'CNAME', name: 'app.example.com', value: 'relay.example.net' },
    { type: 'TXT', name: '_culvert.app.example.com', value: 'culvert-verify=0123' },
  ],
  created_at: '2026-11-23T10:00:00.000Z',
  verified_at: null,
  failing_since: null,
  ends_at: '2026-12-23T10:00:00.000Z',
};
const VERIFIED: Domain = {
  ...PENDING,
  status: 'verified',
  verified_at: '2026-11-23T11:00:00.000Z',
  ends_at: null,
};
const RIGHT: CheckedDomain['checks'] = [
  { what: 'address', ok: true, found: [], problem: '' },
  { what: 'proof', ok: true, found: [], problem: '' },
];
const RECORDS = `TYPE   NAME                      VALUE
CNAME  app.example.com           relay.example.net
TXT    _culvert.app.example.com  culvert-verify=0123
`;

/** Runs a command at a relay that has one domain and responds to everything else as told. */
async function run(line: string, answer: (call: string) => RestResponse, domains: unknown[] = [PENDING]) {
  const { address, calls } = await startRestRelay((call) =>
    call === 'GET /v1/domains' ? [200, { domains }] : answer(call),
  );
  const env = { CULVERT_RELAY: address.origin, CULVERT_API_KEY: `cvt_${'k'.repeat(32)}` };
  const { printed, output } = record();
  const code = await readArguments(line.split(' '), env, NO_FILES).run(contextOf(output));
  return { ...printed, code, calls: calls.filter((call) => call !== 'GET /v1/domains') };
}

const none = (): RestResponse => assert.fail('nothing had to be asked');

describe('culvert domain', () => {
  afterEach(closeServers);

  it('prints the records of an added domain, one per line', async () => {
    const { out, calls, code } = await run('domain add App.Example.com', () => [201, PENDING]);
    assert.deepEqual(calls, ['POST /v1/domains {"domain":"App.Example.com"}']);
    assert.equal(
      out,
      `Create these records at the DNS provider for app.example.com:\n\n${RECORDS}\n` +
        'Then run "culvert domain verify app.example.com". It can take a few minutes for the records to become visible everywhere.\n',
    );
    assert.equal(code, 0);
    const json = await run('domain add app.example.com --json', () => [201, PENDING]);
    assert.deepEqual(JSON.parse(json.out), PENDING);
  });

  it('reports that a domain is already verified', async () => {
    const { out } = await run('domain add app.example.com', () => [201, VERIFIED]);
    assert.equal(
      out,
      'app.example.com is verified. To use it, run "culvert http PORT --domain app.example.com".\n',
    );
  });

  it('reports what is missing, and exits with 1', async () => {
    const checks: CheckedDomain['checks'] = [
      { what: 'address', ok: false, found: ['203.0.113.7'], problem: 'It leads elsewhere.' },
      { what: 'proof', ok: false, found: [], problem: 'There is no TXT record.' },
    ];
    const { out, calls, code } = await run('domain verify APP.example.com.', () => [
      200,
      { ...PENDING, checks },
    ]);
    assert.deepEqual(calls, [`POST /v1/domains/${ID}/verify`]);
    assert.equal(
      out,
      'app.example.com is not verified yet.\n\nIt leads elsewhere.\n  found: 203.0.113.7\nThere is no TXT record.\n\n' +
        `It needs these DNS records:\n\n${RECORDS}`,
    );
    assert.equal(code, 1);
  });

  it('shows until when a domain with wrong records is kept', async () => {
    const failing = { ...VERIFIED, failing_since: PENDING.created_at, ends_at: PENDING.ends_at };
    const checks = RIGHT.map((check) => ({ ...check, ok: check.what === 'proof', problem: 'Wrong.' }));
    const { out, code } = await run(`domain verify ${ID}`, () => [200, { ...failing, checks }]);
    const until = localTime(PENDING.ends_at ?? '');
    assert.ok(
      out.startsWith(`app.example.com is still yours until ${until}, but its DNS records are wrong.\n`),
      out,
    );
    assert.equal(code, 1);
  });

  it('reports that it is verified', async () => {
    const { out, code } = await run('domain verify app.example.com', () => [
      200,
      { ...VERIFIED, checks: RIGHT },
    ]);
    assert.equal(
      out,
      'app.example.com is verified. To use it, run "culvert http PORT --domain app.example.com".\n',
    );
    assert.equal(code, 0);
  });

  it('lists domains', async () => {
    const other = {
      ...VERIFIED,
      domain: 'shop.example',
      failing_since: PENDING.created_at,
      ends_at: PENDING.ends_at,
    };
    const until = localTime(PENDING.ends_at ?? '');
    const text = await run('domain', none, [PENDING, { ...VERIFIED, domain: 'b.example' }, other]);
    const lines = text.out.trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => line.split(/ {2,}/).slice(0, 3)),
      [
        ['DOMAIN', 'STATUS', 'EXPIRES'],
        ['app.example.com', 'pending', until],
        ['b.example', 'verified', ID],
        ['shop.example', 'failing', until],
      ],
    );
    assert.deepEqual(JSON.parse((await run('domain list --json', none)).out), { domains: [PENDING] });
    assert.match((await run('domain list', none, [])).out, /^No domains/);
  });

  it('removes an existing domain', async () => {
    const { out, calls } = await run('domain remove app.example.com', () => [200, { status: 'removed' }]);
    assert.deepEqual([out, calls], ['Removed app.example.com.\n', [`DELETE /v1/domains/${ID}`]]);
    await assert.rejects(run('domain remove other.example.com', none), NoSuchDomain);
  });

  it('reports that a relay is too old', async () => {
    await assert.rejects(
      run('domain add app.example.com', () => [404, { error: 'not found', code: 'not-found' }]),
      DomainUnsupported,
    );
  });

  it('rejects records with anything but plain values', async () => {
    for (const value of ['$(reboot)', 'a b', '\u001b[2J', '']) {
      const records = [{ type: 'TXT', name: 'x', value }];
      await assert.rejects(
        run('domain add app.example.com', () => [201, { ...PENDING, records }]),
        RelayUnreachable,
      );
    }
  });

  for (const line of [
    'domain add',
    'domain add https://app.example.com',
    'domain add localhost',
    'domain list x',
    'domain sell app.example.com',
    'domain add a.example b.example',
  ]) {
    it(`rejects "${line}"`, () => assert.rejects(run(line, none), UsageError));
  }
});
