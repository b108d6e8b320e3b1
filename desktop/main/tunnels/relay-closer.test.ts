import assert from 'node:assert/strict';
import { RelayRefusal, RelayUnreachable } from '../../engine/relay/errors.ts';
import { RelayCloser } from './relay-closer.ts';

/** A relay that answers each close with the next of the given errors, and after them with success. */
function relay(...errors: Error[]) {
  const closed: string[] = [];
  return {
    closed,
    closeTunnel(id: string): Promise<void> {
      closed.push(id);
      const error = errors.shift();
      return error === undefined ? Promise.resolve() : Promise.reject(error);
    },
  };
}

describe('RelayCloser', () => {
  it('closes once if the relay can be told', async () => {
    const api = relay();
    const closer = new RelayCloser();
    await closer.close(api, 'a');
    await closer.retry(api);
    assert.deepEqual(api.closed, ['a']);
  });

  it('tries again until the relay knows', async () => {
    const api = relay(new RelayUnreachable('gone'), new RelayRefusal(503, 'service unavailable'));
    const closer = new RelayCloser();
    await closer.close(api, 'a');
    for (let times = 3; times > 0; times -= 1) await closer.retry(api);
    assert.deepEqual(api.closed, ['a', 'a', 'a']);
  });

  it('counts a tunnel that no longer exists as closed', async () => {
    const api = relay(new RelayRefusal(404, 'tunnel not found'));
    const closer = new RelayCloser();
    await closer.close(api, 'a');
    await closer.retry(api);
    assert.deepEqual(api.closed, ['a']);
  });
});
