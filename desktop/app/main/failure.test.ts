import assert from 'node:assert/strict';
import { AccessUnsupported, RelayRefusal } from '../../client/relay/errors.ts';
import { toCallError } from './failure.ts';

describe('a refusal of the relay', () => {
  const cases: readonly (readonly [RelayRefusal, code: string])[] = [
    [new RelayRefusal(400, 'that port cannot be', { code: 'invalid-port' }), 'bad-port'],
    [new RelayRefusal(400, 'that name cannot be', { code: 'invalid-name' }), 'bad-name'],
    [new RelayRefusal(400, 'that is too long', { code: 'ttl-too-long' }), 'bad-ttl'],
    [new RelayRefusal(400, 'invalid request body', { code: 'invalid-body' }), 'refused'],
    [new RelayRefusal(401, 'nobody has this key', { code: 'invalid-key' }), 'key-refused'],
    [new RelayRefusal(403, 'no names for you', { code: 'plan-too-low' }), 'plan-too-low'],
    [new RelayRefusal(403, 'that is enough', { code: 'too-many-tunnels' }), 'not-allowed'],
    [new RelayRefusal(403, 'lock it first', { code: 'agent-access' }), 'agent-access'],
    [new RelayRefusal(403, 'call it ai-…', { code: 'agent-name' }), 'agent-name'],
    [new RelayRefusal(404, 'it has ended', { code: 'tunnel-not-found' }), 'tunnel-gone'],
    [new RelayRefusal(404, 'tunnel not found', { code: 'not-found' }), 'no-relay'],
    [new RelayRefusal(400, 'that is no network', { code: 'invalid-access' }), 'bad-lock'],
    [new RelayRefusal(409, 'somebody has it', { code: 'name-taken' }), 'name-taken'],
    [new RelayRefusal(409, 'name already in use', { code: 'name-reserved' }), 'name-reserved'],
    [new RelayRefusal(409, 'revoke one first', { code: 'too-many-links' }), 'too-many-links'],
  ];
  for (const [refusal, code] of cases) {
    it(`is recognised by its code ${refusal.code}, whatever its text`, () => {
      assert.equal(toCallError(refusal)?.code, code);
    });
  }

  const withoutCode: readonly (readonly [status: number, text: string, code: string])[] = [
    [400, 'local_port must be 1-65535', 'bad-port'],
    [400, 'ttl must be at most 2h0m0s', 'bad-ttl'],
    [401, 'invalid api key', 'key-refused'],
    [403, 'custom names require the Dev plan or above', 'plan-too-low'],
    [404, 'tunnel not found', 'tunnel-gone'],
    [409, 'name already in use', 'name-taken'],
  ];
  for (const [status, text, code] of withoutCode) {
    it(`is recognised by the text "${text}" if the relay sends no code`, () => {
      assert.equal(toCallError(new RelayRefusal(status, text))?.code, code);
    });
  }

  it('is shown at the access policy if the relay does not support it, with what became of the tunnel', () => {
    const { code, field, text } =
      toCallError(new AccessUnsupported('The tunnel was closed immediately')) ?? {};
    assert.deepEqual([code, field], ['relay-without-it', 'lock']);
    assert.match(text ?? '', /cannot restrict access to a tunnel\. The tunnel was closed immediately\.$/);
  });
});
