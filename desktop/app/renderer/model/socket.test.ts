import assert from 'node:assert/strict';
import type { SocketMessage, SocketMessages } from '../../../client/inspector/records.ts';
import { joinedMessages, knownUpTo, listedMessages, messageWords, previewText } from './socket.ts';

function message(id: number, changes: Partial<SocketMessage> = {}): SocketMessage {
  const body = new TextEncoder().encode(`text ${id}`);
  const common = { atMs: id, kind: 'text', form: 'plain', isCut: false } as const;
  return { ...common, id, isFromVisitor: id % 2 === 1, body, size: body.length, ...changes };
}

function part(messages: readonly SocketMessage[], oldest = 1): SocketMessages {
  return { count: messages.at(-1)?.id ?? 0, oldest, messages, problem: undefined };
}

describe('the messages of a WebSocket in the window', () => {
  it('are read on from the last one, and again from one that was being decompressed', () => {
    const known = joinedMessages(undefined, part([message(1), message(2, { form: 'waiting' }), message(3)]));
    assert.deepEqual([knownUpTo(undefined), knownUpTo(known)], [0, 1]);
    const next = joinedMessages(known, part([message(2), message(3), message(4)]));
    assert.deepEqual(
      next.messages.map(({ id, form }) => [id, form]),
      [1, 2, 3, 4].map((id) => [id, 'plain']),
    );
    assert.equal(knownUpTo(next), 4);
  });

  it('lose the ones that are no longer kept, and are the same list without a change', () => {
    const known = part([message(1), message(2)]);
    assert.equal(joinedMessages(known, { ...part([]), count: 2 }).messages, known.messages);
    const next = joinedMessages(known, part([message(3)], 2));
    assert.deepEqual(
      next.messages.map(({ id }) => id),
      [2, 3],
    );
  });

  it('are listed newest first, by sender and words', () => {
    const all = [1, 2, 3].map((id) => message(id));
    const ids = (...filter: Parameters<typeof listedMessages> extends [unknown, ...infer F] ? F : never) =>
      listedMessages(all, ...filter).map(({ id }) => id);
    assert.deepEqual(ids('both', ''), [3, 2, 1]);
    assert.deepEqual(ids('visitor', ''), [3, 1]);
    assert.deepEqual(ids('service', 'TEXT 2'), [2]);
  });

  it('have a line that hides no characters, in hexadecimal digits if it is not text', () => {
    assert.equal(previewText(message(7)), 'text 7');
    assert.equal(previewText(message(1, { body: Uint8Array.of(0, 255) })), '00 ff');
    assert.match(
      previewText(message(1, { body: new TextEncoder().encode('\u202Ex\u0007') })),
      /^\\u\{202e\}x\\x07$/,
    );
    const close = message(1, { kind: 'close', body: Uint8Array.of(3, 232, 98, 121, 101) });
    assert.equal(previewText(close), '1000 bye');
    assert.equal(previewText(message(1, { form: 'unreadable' })), 'Could not be decompressed');
    const long = new TextEncoder().encode('é'.repeat(500));
    assert.ok(previewText(message(1, { body: long })).startsWith('éé'));
  });

  it('say who sent them, and how they were compressed', () => {
    const words = messageWords(0, message(2, { form: 'compressed', size: 4 }));
    assert.match(words, /^Message 2, from your server, text, .*\.002.*, 6 bytes \(compressed to 4 bytes\)$/);
  });
});
