import assert from 'node:assert/strict';
import { RequestLog } from '../inspector/request-log.ts';
import { askForAgent, LOG_METHODS, type LogHost } from './log-methods.ts';
import { CallRefused } from './method.ts';

describe('what an agent may ask of a request log', () => {
  const log = new RequestLog();
  log
    .open()
    .toLocal(Buffer.from('GET /?token=s3cret HTTP/1.1\r\nAuthorization: Bearer s3cret\r\nHost: x\r\n\r\n'));
  const replayer = { replay: () => Promise.resolve(7), replayEdited: () => Promise.resolve(8) };
  const find: LogHost['find'] = (key) => {
    if (key === 'own') return { log, replayer };
    throw new CallRefused('unknown-tunnel', 'Not yours.');
  };

  it('is marked, row by row', async () => {
    const marked = Object.entries(LOG_METHODS).filter(([, { isForAgents }]) => isForAgents);
    assert.deepEqual(marked.map(([name]) => name).sort(), [
      'log:detail',
      'log:edit',
      'log:list',
      'log:replay',
    ]);
    for (const name of ['log:import', 'log:follow', 'log:messages', 'tunnel:list'])
      await assert.rejects(
        askForAgent(name as 'log:list', { key: 'own', id: 1, reveal: false }, find),
        (error) => error instanceof CallRefused && error.code === 'no-such-method',
        name,
      );
  });

  it('has no secrets, whatever is asked for', async () => {
    const given = { key: 'own', id: 1, reveal: true };
    const answers = [
      await askForAgent('log:detail', given, find),
      await askForAgent('log:list', { key: 'own', reveal: true }, find),
    ];
    assert.match(JSON.stringify(answers), /token=\[redacted\].*Bearer \[redacted\]/);
    assert.doesNotMatch(JSON.stringify(answers), /s3cret/);
  });

  it('is about tunnels of the agent, and checked', async () => {
    assert.equal(await askForAgent('log:replay', { key: 'own', id: 1 }, find), 7);
    await assert.rejects(askForAgent('log:list', { key: 'other' }, find), CallRefused);
    await assert.rejects(askForAgent('log:list', { key: 'own', more: 1 }, find), { name: 'ValidationError' });
    await assert.rejects(askForAgent('log:detail', { key: 'own', id: 9 }, find), CallRefused);
  });
});
