import assert from 'node:assert/strict';
import { UsageError } from '../client/failures.ts';
import { readInspect } from './inspect-command.ts';

describe('the command line of culvert inspect', () => {
  it('lists by default', () => {
    assert.deepEqual(readInspect([], {}), {
      action: { name: 'list' },
      tunnel: undefined,
      filter: '',
      search: undefined,
      reveal: false,
      json: false,
    });
    assert.deepEqual(readInspect(['watch'], { tunnel: 'demo' }).tunnel, 'demo');
    const shown = readInspect(['show', '12'], { curl: true, reveal: true });
    assert.deepEqual(shown.action, { name: 'show', request: 12, asCurl: true });
    assert.equal(shown.reveal, true);
    assert.equal(readInspect([], { filter: 'POST 500' }).filter, 'POST 500');
  });

  it('edits in an editor, or as the options specify', () => {
    const edit = { name: 'edit', request: 3 };
    assert.deepEqual(readInspect(['edit', '3'], {}).action, {
      ...edit,
      changes: undefined,
      secret: undefined,
    });
    assert.deepEqual(readInspect(['edit', '3'], { header: ['X: 1'], body: '' }).action, {
      ...edit,
      changes: { method: undefined, path: undefined, headers: ['X: 1'], body: '' },
      secret: undefined,
    });
  });

  it('exports all or some, and imports a file or standard input', () => {
    assert.deepEqual(readInspect(['export'], { filter: 'x' }).action, { name: 'export', requests: [] });
    assert.deepEqual(readInspect(['export', '3', '5'], {}).action, { name: 'export', requests: [3, 5] });
    assert.deepEqual(readInspect(['import'], { filter: 'x' }).action, { name: 'import', file: undefined });
    assert.deepEqual(readInspect(['import', 'a.har'], {}).action, { name: 'import', file: 'a.har' });
  });

  it('rejects unknown actions and unsuitable options, and shows what it accepts', () => {
    for (const [operands, values, message] of [
      [
        ['lost'],
        {},
        /^Unknown command "inspect lost". Use list, show, replay, edit, export, import or watch/,
      ],
      [['list', '3'], {}, /Unexpected argument "3" for "culvert inspect list"/],
      [['show'], {}, /Specify the number of the request to show/],
      [['replay', '0'], {}, /Specify the number of the request to replay/],
      [['show', '1', '2'], {}, /Unexpected argument "2"/],
      [['replay', '1'], { filter: 'x' }, /--filter can only be used with list/],
      [['edit', '1', '2'], {}, /Unexpected argument "2"/],
      [['edit'], {}, /Specify the number of the request to edit/],
      [['export', 'x'], {}, /Specify the number of the request to export/],
      [['import', 'a', 'b'], {}, /Unexpected argument "b"/],
      [['edit', '1'], { filter: 'x' }, /--filter can only be used with list/],
      [['replay', '1'], { method: 'PUT' }, /can only be used with "culvert inspect edit"/],
      [['replay', '1'], { sign: 'x' }, /can only be used with "culvert inspect edit"/],
      [['watch'], { search: 'x' }, /--search can only be used with "culvert inspect list"/],
      [['list'], { search: ' ' }, /--search " " is not valid\. It must be words of at most 200 characters/],
      [['list'], { search: 'x'.repeat(201) }, /--search "x{200}" is not valid/],
      [['list'], { curl: true }, /--curl can only be used with "culvert inspect show"/],
      [['show', '1'], { curl: true, json: true }, /--curl can only be used with "culvert inspect show"/],
    ] as const)
      assert.throws(
        () => readInspect(operands, values),
        (error) => error instanceof UsageError && message.test(error.message),
      );
  });
});
