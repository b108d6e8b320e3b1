import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import type { AcmeConfig } from './acme-config.ts';
import { loadConfig } from './config.ts';

const ON = { CULVERT_ACME_EMAIL: 'a@relay.test', CULVERT_PUBLIC_URL: 'https://relay.test' };

function acme(env: Record<string, string>): AcmeConfig | undefined {
  const result = loadConfig(env, []);
  return 'config' in result ? result.config.acme : assert.fail(result.problems.join('\n'));
}

function problems(env: Record<string, string>): readonly string[] {
  const result = loadConfig(env, []);
  return 'problems' in result ? result.problems : assert.fail('nothing was refused');
}

describe('settings of certificates', () => {
  it("orders 20 certificates in an hour from Let's Encrypt, unless told otherwise", () => {
    const given = {
      email: 'a@relay.test',
      directory: 'https://acme-v02.api.letsencrypt.org/directory',
      ca: undefined,
      ordersPerHour: 20,
      httpPort: 80,
      dnsPort: undefined,
      host: 'relay.test',
    };
    assert.deepEqual(acme(ON), given);
    assert.equal(acme({}), undefined);
    const other = {
      CULVERT_ACME_DIRECTORY: 'https://localhost:14000/dir',
      CULVERT_ACME_CA: 'ca.pem',
      CULVERT_ACME_ORDERS_PER_HOUR: '1000',
      CULVERT_HTTP_PORT: '8081',
    };
    assert.deepEqual(acme({ ...ON, ...other }), {
      ...given,
      directory: 'https://localhost:14000/dir',
      ca: { path: resolve('ca.pem'), setting: 'CULVERT_ACME_CA' },
      ordersPerHour: 1000,
      httpPort: 8081,
    });
  });

  it('CULVERT_ACME_ORDERS_PER_HOUR takes a number from 1 to 1000', () => {
    for (const CULVERT_ACME_ORDERS_PER_HOUR of ['0', '1001', '-1', 'x'])
      assert.deepEqual(problems({ ...ON, CULVERT_ACME_ORDERS_PER_HOUR }), [
        'CULVERT_ACME_ORDERS_PER_HOUR takes a number from 1 to 1000',
      ]);
  });

  it('takes a mail address, and an authority with https', () => {
    assert.deepEqual(problems({ CULVERT_ACME_EMAIL: 'operator' }), [
      'CULVERT_ACME_EMAIL takes a mail address, like operator@example.com',
    ]);
    for (const CULVERT_ACME_DIRECTORY of ['http://localhost/dir', 'https://', 'letsencrypt'])
      assert.deepEqual(problems({ ...ON, CULVERT_ACME_DIRECTORY }), [
        'CULVERT_ACME_DIRECTORY takes the https:// address of an ACME directory',
      ]);
  });

  it('needs a name that others can look up', () => {
    const text =
      'CULVERT_ACME_EMAIL takes effect only with CULVERT_PUBLIC_URL=https://…, a name that the authority can look up';
    for (const CULVERT_PUBLIC_URL of [
      '',
      'http://relay.test',
      'https://localhost',
      'https://192.0.2.1',
      'https://[::1]',
    ])
      assert.deepEqual(problems({ ...ON, CULVERT_PUBLIC_URL }), [text], CULVERT_PUBLIC_URL);
  });

  it('takes no effect beside certificates of files, or behind a proxy that needs them in its place', () => {
    const files = { CULVERT_TLS_CERT: 'a.pem', CULVERT_TLS_KEY: 'b.pem' };
    assert.deepEqual(problems({ ...ON, ...files }), [
      'CULVERT_ACME_EMAIL takes effect only without CULVERT_TLS_CERT',
      'CULVERT_ACME_EMAIL takes effect only without CULVERT_TLS_KEY',
    ]);
    assert.deepEqual(problems({ ...ON, CULVERT_TRUST_PROXY: '127.0.0.1' }), [
      'CULVERT_ACME_EMAIL takes effect only without CULVERT_TRUST_PROXY',
    ]);
  });

  it('refuses what would have no effect without it', () => {
    assert.deepEqual(problems({ CULVERT_HTTP_PORT: '81', CULVERT_ACME_CA: 'ca.pem' }), [
      'CULVERT_ACME_CA takes effect only with CULVERT_ACME_EMAIL',
      'CULVERT_HTTP_PORT takes effect only with CULVERT_ACME_EMAIL',
    ]);
  });
});
