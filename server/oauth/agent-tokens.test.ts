import assert from 'node:assert/strict';
import { AgentTokens, newAgentId, sha256 } from './agent-tokens.ts';

describe('AgentTokens', () => {
  const tokens = new AgentTokens('secret');
  const id = newAgentId();

  it('makes tokens of a kind that name their agent, each once', () => {
    for (const [kind, prefix] of [
      ['code', 'cvc_'],
      ['access', 'cva_'],
      ['refresh', 'cvr_'],
    ] as const) {
      const { token, hash } = tokens.make(kind, id);
      assert.ok(token.startsWith(prefix));
      assert.equal(hash, sha256(token));
      assert.deepEqual(tokens.read(token), { kind, id, hash });
      assert.notEqual(tokens.make(kind, id).token, token);
    }
  });

  it('reads nothing that was not made with its secret, or is of another kind', () => {
    const { token } = tokens.make('refresh', id);
    for (const wrong of [
      '',
      'cva_',
      token.slice(0, -1),
      `${token}x`,
      ` ${token}`,
      token.replace('cvr_', 'cva_'),
      `${token.slice(0, 4)}${token[4] === 'A' ? 'B' : 'A'}${token.slice(5)}`,
      new AgentTokens('other').make('refresh', id).token,
    ])
      assert.equal(tokens.read(wrong), undefined, wrong);
  });
});
