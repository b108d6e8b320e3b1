import assert from 'node:assert/strict';
import { machineAddresses } from './machine-addresses.ts';

describe('machineAddresses', () => {
  it('are those of this machine', () => {
    assert.ok(machineAddresses()?.some(({ address }) => address === '127.0.0.1'));
  });

  it('are unknown while the system has no file descriptor to ask with', () => {
    const asked = machineAddresses(() => {
      throw new Error('uv_interface_addresses returned Unknown system error 24');
    });
    assert.equal(asked, undefined);
  });
});
