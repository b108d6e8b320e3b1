import assert from 'node:assert/strict';
import { listBytes, messageBytes } from './resp.ts';

describe('bytes to and from Redis', () => {
  it('are those of the protocol', () => {
    assert.equal(listBytes(['get', 'a key']), '*2\r\n$3\r\nget\r\n$5\r\na key\r\n'.length);
    assert.equal(
      messageBytes('channel', 'text of ten'),
      '*3\r\n$7\r\nmessage\r\n$7\r\nchannel\r\n$11\r\ntext of ten\r\n'.length,
    );
  });
});
