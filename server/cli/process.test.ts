import assert from 'node:assert/strict';
import { givenListeners, tellServiceManager } from './process.ts';

describe('listeners passed by a service manager', () => {
  it('are identified by their names, or by their order', () => {
    const all = { LISTEN_PID: '7', LISTEN_FDS: '2' };
    assert.deepEqual([...givenListeners({ ...all, LISTEN_FDS: '1' }, 7)], [['visitors', { fd: 3 }]]);
    assert.deepEqual(
      [...givenListeners({ ...all, LISTEN_FDNAMES: 'metrics:visitors' }, 7)],
      [
        ['metrics', { fd: 3 }],
        ['visitors', { fd: 4 }],
      ],
    );
    assert.deepEqual(
      [...givenListeners({ ...all, LISTEN_FDNAMES: 'metrics:culvert-relay.socket' }, 7)],
      [
        ['metrics', { fd: 3 }],
        ['visitors', { fd: 4 }],
      ],
    );
  });

  it('are left alone if there are none or they are for another process', () => {
    assert.deepEqual([...givenListeners({ LISTEN_PID: '8', LISTEN_FDS: '1' }, 7)], []);
    assert.deepEqual([...givenListeners({ LISTEN_PID: '7' }, 7)], []);
    assert.deepEqual([...givenListeners({}, 7)], []);
  });
});

describe('a service manager', () => {
  it('is not notified outside of one', async () => {
    await tellServiceManager({}, 7);
  });

  it('is an error if it cannot be notified', async () => {
    await assert.rejects(
      tellServiceManager({ NOTIFY_SOCKET: '/nonexistent/socket', PATH: '/nonexistent' }, 7),
    );
  });
});
