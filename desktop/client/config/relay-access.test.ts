import assert from 'node:assert/strict';
import { UsageError } from '../failures.ts';
import { parseRelayAddress } from '../relay/relay-address.ts';
import { ProjectFileError } from './project-trust.ts';
import { findRelay, readRelayAccess, type RelaySources } from './relay-access.ts';

const KEY = `cvt_${'k'.repeat(32)}`;
const ENV_KEY = `cvt_${'e'.repeat(32)}`;
const KEPT_KEY = `cvt_${'s'.repeat(32)}`;
const KEPT = { relay: parseRelayAddress('https://kept.example'), key: KEPT_KEY };
const at = (relay: string) => ({ path: '/p/culvert.yml', relay: parseRelayAddress(relay) });
const PROJECT = at('https://project.example');

function found(sources: Partial<RelaySources>): string {
  const { relay, relayFrom, key, keyFrom } = findRelay({
    options: {},
    env: {},
    readLogin: () => undefined,
    ...sources,
  });
  return `${relay.hostname} ${relayFrom}, ${key?.charAt(4) ?? 'none'} ${keyFrom}`;
}

const readLogin = () => KEPT;

describe('findRelay', () => {
  it('prefers options, then the environment, then the stored login', () => {
    const env = { CULVERT_RELAY: 'http://env.example', CULVERT_API_KEY: ENV_KEY };
    const options = { relay: 'http://option.example', key: KEY };
    assert.equal(found({ options, env, readLogin }), 'option.example --relay, k --key');
    assert.equal(found({ env, readLogin }), 'env.example CULVERT_RELAY, e CULVERT_API_KEY');
    assert.equal(found({ readLogin }), 'kept.example culvert login, s culvert login');
    assert.equal(found({}), 'localhost the default, none culvert login');
  });

  it('treats an empty variable as not set', () => {
    assert.match(found({ env: { CULVERT_RELAY: '', CULVERT_API_KEY: '' }, readLogin }), /^kept.*, s /);
  });

  it('prefers the relay of culvert.yml to the stored one', () => {
    assert.match(found({ project: PROJECT, readLogin }), /^project\.example culvert\.yml, none /);
  });

  it('sends a key of the environment or an option to the relay of culvert.yml only if you have named it too', () => {
    const env = { CULVERT_API_KEY: ENV_KEY };
    const said = /^\/p\/culvert\.yml: relay: .*(?:CULVERT_API_KEY|--key).*CULVERT_RELAY=http.*--relay.*$/;
    for (const sources of [
      { env, project: PROJECT },
      { env, project: PROJECT, readLogin },
      { env, project: at('http://kept.example'), readLogin },
      { env, project: at('http://localhost:8081') },
      { options: { key: KEY }, project: PROJECT, readLogin },
    ])
      assert.throws(
        () => found(sources),
        (error) => error instanceof ProjectFileError && said.test(error.message),
      );
    assert.match(
      found({ env, project: at('https://kept.example/v1'), readLogin }),
      /^kept.*yml, e CULVERT_API_KEY/,
    );
    assert.match(found({ env, project: at('http://localhost:8080') }), /^localhost .*, e CULVERT_API_KEY$/);
    const named = { ...env, CULVERT_RELAY: 'https://project.example' };
    assert.match(found({ env: named, project: PROJECT }), /^project\.example CULVERT_RELAY, e /);
  });

  it('sends a stored key only to its own relay', () => {
    assert.match(found({ options: { relay: 'https://kept.example/v1' }, readLogin }), /, s culvert login$/);
    for (const relay of ['https://evil.example', 'http://kept.example', 'https://kept.example:8443']) {
      assert.match(found({ options: { relay }, readLogin }), /, none /);
      assert.match(found({ project: at(relay), readLogin }), /, none /);
    }
  });

  it('reads no file if options and environment are complete', () => {
    const options = { relay: 'http://option.example', key: KEY };
    assert.match(found({ options, readLogin: () => assert.fail('it was read') }), /^option/);
  });
});

/** A check for `assert.throws`. */
const isUsage = (message: RegExp) => (error: unknown) =>
  error instanceof UsageError && error.exitCode === 2 && message.test(error.message);

const read = (sources: Partial<RelaySources>) =>
  readRelayAccess({ options: {}, env: {}, readLogin: () => undefined, ...sources });

describe('readRelayAccess', () => {
  it('explains what to do without a key', () => {
    assert.throws(
      () => read({ env: { CULVERT_RELAY: 'http://localhost:8080' } }),
      isUsage(/no API key for http:\/\/localhost:8080\. Run "culvert login".*CULVERT_API_KEY/),
    );
  });

  it('explains the two ways to a relay at the first use, when nobody has named one', () => {
    assert.throws(
      () => read({}),
      isUsage(
        /No relay is set up.*invitation or a key.*culvert login https.*invite.*culvert login --relay.*run your own.*culvert-relay\n/s,
      ),
    );
  });

  it('sends a key over a network only encrypted, unless told otherwise', () => {
    const env = { CULVERT_API_KEY: KEY };
    const unencrypted = 'http://relay.example http://192.0.2.7:8080 http://localhost.example http://[::2]';
    for (const relay of unencrypted.split(' ')) {
      for (const sources of [{ env: { ...env, CULVERT_RELAY: relay } }, { env, options: { relay } }]) {
        assert.throws(
          () => read(sources),
          isUsage(
            /^(?:--relay|CULVERT_RELAY): the connection to http:.* is not encrypted.*https:\/\/.*--insecure/,
          ),
        );
      }
      assert.equal(read({ env, options: { relay, insecure: true } }).relay.secure, false);
    }
    const accepted =
      'http://localhost http://a.localhost:1 http://127.0.0.9 http://[::1]:8080 https://a.example';
    for (const relay of accepted.split(' ')) assert.equal(read({ env, options: { relay } }).key, KEY);
  });

  it('uses proxies of the environment, and rejects an invalid one', () => {
    const env = { CULVERT_API_KEY: KEY, HTTPS_PROXY: 'http://proxy.example:3128' };
    const options = { relay: 'https://relay.example' };
    const { network, relay } = read({ env, options });
    assert.equal(network.proxyFor(relay), 'proxy.example:3128');
    for (const [name, message] of [
      ['HTTPS_PROXY', /HTTPS_PROXY/],
      ['CULVERT_CA', /CULVERT_CA: ".*nowhere.*" cannot be read/],
    ] as const) {
      assert.throws(
        () => read({ env: { CULVERT_API_KEY: KEY, [name]: 'gopher://nowhere' }, options }),
        isUsage(message),
      );
    }
  });

  for (const key of [`${KEY}\n`, `"${KEY}"`, `'${KEY}' `, ` ${KEY}\r\n`])
    it(`reads the key ${JSON.stringify(key.replace(KEY, 'K'))} of the environment`, () =>
      assert.equal(read({ env: { CULVERT_API_KEY: key } }).key, KEY));

  it('ignores a proxy of a kind that it does not support if it does not use it', () => {
    const env = { CULVERT_API_KEY: KEY, ALL_PROXY: 'socks5://127.0.0.1:1080' };
    assert.equal(read({ env, options: { relay: 'http://127.0.0.1:8080' } }).key, KEY);
    assert.throws(
      () => read({ env, options: { relay: 'https://relay.example' } }),
      isUsage(/^ALL_PROXY is not a valid/),
    );
  });

  it('rejects a damaged key as the relay would', () => {
    for (const key of ['cvt_short', 'other', `${KEY}!`]) {
      assert.throws(
        () => read({ env: { CULVERT_API_KEY: key } }),
        (error) => error instanceof UsageError && error.exitCode === 3 && !error.message.includes(key),
        'a key must not be in a log',
      );
    }
  });
});
