import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CERTIFICATE } from '../../testing/servers.ts';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { parseProxyAddress, readNetworkSettings } from './proxy-dial.ts';

describe('readNetworkSettings', () => {
  let folder: string;
  before(() => (folder = temporaryDirectory()));

  it('reads proxies from variables in either case, lower case first, and ALL_PROXY as the fallback', () => {
    const { httpProxy, httpsProxy, noProxy } = readNetworkSettings({
      HTTPS_PROXY: 'http://upper:1',
      https_proxy: 'http://lower:1',
      ALL_PROXY: 'http://all:1',
      NO_PROXY: 'example.com',
    });
    assert.deepEqual([httpProxy, httpsProxy, noProxy], ['http://all:1', 'http://lower:1', 'example.com']);
  });

  it('names the variable that a proxy is from', () => {
    const { httpProxyFrom, httpsProxyFrom } = readNetworkSettings({
      all_proxy: 'socks5://a',
      HTTPS_PROXY: 'b',
    });
    assert.deepEqual([httpProxyFrom, httpsProxyFrom], ['all_proxy', 'HTTPS_PROXY']);
  });

  for (const value of [' http://p:1\r\n', '"http://p:1"', "'http://p:1'\n", '" http://p:1 "'])
    it(`reads ${JSON.stringify(value)} without what is around it`, () =>
      assert.equal(readNetworkSettings({ HTTPS_PROXY: value }).httpsProxy, 'http://p:1'));

  it('uses nothing of an empty environment', () => {
    const settings = readNetworkSettings({ HTTPS_PROXY: '', CULVERT_CA: '' });
    assert.deepEqual(
      Object.values(settings).filter((value) => value !== undefined),
      [],
    );
  });

  it('reads the certificates in a file that may contain other text', () => {
    const path = join(folder, 'ca.pem');
    writeFileSync(path, `Corporate authority\n${CERTIFICATE}\n`);
    for (const { ca } of [readNetworkSettings({ CULVERT_CA: path }), readNetworkSettings({}, path)])
      assert.equal(ca?.trim(), CERTIFICATE.trim());
  });

  it('describes what is wrong with a file', () => {
    const path = join(folder, 'none.pem');
    assert.throws(
      () => readNetworkSettings({}, path),
      /^NetworkSettingError: --ca or CULVERT_CA: .* \(ENOENT\)/,
    );
    for (const text of ['hello', CERTIFICATE.replaceAll(/^M.{9}/gm, 'AAAAAAAAAA')]) {
      writeFileSync(path, text);
      assert.throws(() => readNetworkSettings({}, path), /It must be a PEM file/);
    }
  });
});

describe('parseProxyAddress', () => {
  it('reads host, port and credentials', () => {
    const { secure, hostname, port, name, authorization } = parseProxyAddress(
      'https://u:p%40ss@[::1]:3128',
      'X',
    );
    assert.deepEqual([secure, hostname, port, name], [true, '::1', 3128, '[::1]:3128']);
    assert.equal(authorization, `Basic ${Buffer.from('u:p@ss').toString('base64')}`);
  });

  for (const [address, login] of [
    [String.raw`http://CORP\ann:pass@proxy:3128`, String.raw`CORP\ann:pass`],
    [String.raw`CORP\ann:p:a@ss@proxy:3128`, String.raw`CORP\ann:p:a@ss`],
    ['http://CORP%5Cann:%3A%2F@proxy:3128', String.raw`CORP\ann::/`],
    ['http://ann@proxy:3128', 'ann:'],
    ['http://100%:a%zz@proxy:3128', '100%:a%zz'],
  ] as const)
    it(`reads the login of ${address}`, () => {
      const { hostname, port, authorization = '' } = parseProxyAddress(address, 'X');
      assert.deepEqual([hostname, port], ['proxy', 3128]);
      assert.equal(Buffer.from(authorization.slice('Basic '.length), 'base64').toString(), login);
    });

  it('takes a plain host and port to mean http', () => {
    const { secure, hostname, port, authorization } = parseProxyAddress('proxy.example.com:8080', 'X');
    assert.deepEqual([secure, hostname, port, authorization], [false, 'proxy.example.com', 8080, undefined]);
  });

  it('rejects everything else, without repeating a password', () => {
    for (const text of [
      'socks5://u:secret@proxy:1080',
      'http://u:secret@:80',
      'http://u:secret@proxy:99999',
    ]) {
      assert.throws(
        () => parseProxyAddress(text, 'HTTPS_PROXY'),
        ({ message }: Error) =>
          message.startsWith('HTTPS_PROXY is not a valid proxy address') && !message.includes('secret'),
      );
    }
  });
});
