import assert from 'node:assert/strict';
import { UsageError } from '../../client/failures.ts';
import { isTarget, otherMachineWarning, parseTarget } from './parse.ts';

describe('parseTarget', () => {
  const accepted: [string, number, string, boolean][] = [
    ['3000', 3000, 'localhost', false],
    [':3000', 3000, 'localhost', false],
    ['localhost:3000', 3000, 'localhost', false],
    ['LOCALHOST:3000', 3000, 'localhost', false],
    ['0.0.0.0:3000', 3000, 'localhost', false],
    ['[::]:3000', 3000, 'localhost', false],
    ['http://localhost:3000', 3000, 'localhost', false],
    ['http://localhost:3000/', 3000, 'localhost', false],
    ['http://localhost', 80, 'localhost', false],
    ['https://localhost', 443, 'localhost', true],
    ['127.0.0.1:5173', 5173, '127.0.0.1', false],
    ['[::1]:5173', 5173, '::1', false],
    ['https://127.0.0.1:8443', 8443, '127.0.0.1', true],
    ['HTTPS://127.0.0.1:8443', 8443, '127.0.0.1', true],
    ['192.168.1.5:80', 80, '192.168.1.5', false],
    ['http://nas.local:8080', 8080, 'nas.local', false],
  ];
  for (const [text, port, host, https] of accepted) {
    it(`understands ${text}`, () => {
      assert.equal(isTarget(text), true);
      assert.deepEqual(parseTarget(text), { port, host, https });
    });
  }

  const refused: [string, RegExp][] = [
    ['0', /PORT "0" is not valid\. It must be a local port/],
    ['65536', /is not valid/],
    ['localhost:65536', /is not valid/],
    ['3000.5', /is not valid/],
    ['nas', /is not valid.*HOST:PORT/],
    ['ftp://localhost:21', /is not valid/],
    ['http://localhost:3000/admin?x=1', /forwards all paths of a port\. Leave out "\/admin\?x=1"/],
    ['http://user:secret@host:80', /is not valid/],
    ['a b:80', /is not valid/],
    ['a_$:80', /"a_\$" is not a host name or an IP address/],
    ['', /is not valid/],
  ];
  for (const [text, message] of refused) {
    it(`rejects "${text}"`, () => {
      assert.throws(
        () => parseTarget(text),
        (error) => error instanceof UsageError && message.test(error.message),
      );
    });
  }

  it('does not mistake a command for a target', () => {
    for (const word of ['http', 'list', 'my-app', '']) assert.equal(isTarget(word), false);
  });

  it('warns only of other machines', () => {
    assert.match(otherMachineWarning('192.168.1.5') ?? '', /192\.168\.1\.5 is another machine/);
    for (const host of ['localhost', '127.0.0.1', '::1']) assert.equal(otherMachineWarning(host), undefined);
  });
});
