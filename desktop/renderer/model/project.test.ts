import assert from 'node:assert/strict';
import type { ProjectTunnelStatus } from '../../shared/project.ts';
import { isOffered, rulesWords, statusWord } from './project.ts';

describe('a tunnel of a project', () => {
  it('is offered unless it is there, on its way, or cannot be started', () => {
    const all: [ProjectTunnelStatus, boolean, string | undefined][] = [
      [{ name: 'ready' }, true, undefined],
      [{ name: 'failed', why: 'x' }, true, undefined],
      [{ name: 'blocked', why: 'x' }, false, undefined],
      [{ name: 'online' }, false, 'Online already'],
      [{ name: 'starting' }, false, 'Starting…'],
      [{ name: 'started' }, false, 'Started'],
    ];
    for (const [status, offered, word] of all)
      assert.deepEqual([isOffered({ status }), statusWord({ status })], [offered, word], status.name);
  });

  it('says who may come in, and for how long', () => {
    assert.equal(rulesWords({ lock: { kind: 'anyone' }, ttl: undefined }), 'Anyone');
    assert.equal(
      rulesWords({ lock: { kind: 'other', parts: ['users', 'links'], password: undefined }, ttl: '4h' }),
      'Users · Links · for 4h',
    );
    assert.equal(
      rulesWords({ lock: { kind: 'addresses', allow: ['10.0.0.0/8'] }, ttl: undefined }),
      'Only from 10.0.0.0/8',
    );
    assert.equal(rulesWords({ lock: undefined, ttl: undefined }), 'who may come in cannot be told');
  });
});
